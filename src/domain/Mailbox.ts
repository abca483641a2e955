/**
 * The mailbox that an address leads to, as far as that can be known: without what stands behind a plus, and at Gmail without dots. By it
 * one person's addresses are told from those of several people.
 */
const GMAIL = ["gmail.com", "googlemail.com"]

/** `address`: in lower case. The function `mailbox_of` of the database says the same in SQL. */
export const mailboxOf = (address: string): string => {
  const at = address.lastIndexOf("@")
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)]
  const [head] = local.split("+", 1)
  const kept = head === undefined || head === "" ? local : head
  return GMAIL.includes(domain) ? `${kept.replaceAll(".", "")}@gmail.com` : `${kept}@${domain}`
}
