/** The version of the interface. A module of its own: programs that print it need nothing else. */
export const version = "0.1.0"
