/** The console's icons, in the text's colour. They repeat the words next to them. */

const paths = {
  overview: "M3 12h3l2-6 4 12 2.500-8 1.500 2h5",
  usage: "M5 20v-7M12 20V5M19 20v-10",
  requests: "M5 6h14M5 12h14M5 18h8",
  keys: "M14 10a4 4 0 1 0-3.500 4L12 15.500h2V17.500h2V20h4v-3.500l-6.200-5",
  users:
    "M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM2.500 20a6.500 6.500 0 0 1 13 0M16 4.500a3.500 3.500 0 0 1 0 6.200M18 14.500a6.500 6.500 0 0 1 3.500 5.500",
  models: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9",
  providers: "M4 5h16v5H4zM4 14h16v5H4zM8 7.500h.01M8 16.500h.01",
  audit: "M8 4h8v3H8zM6 5.500H5V21h14V5.500h-1M8.500 12h7M8.500 16h5",
  webhooks: "M9 8a3 3 0 1 1 4.500 2.600L16 15M7 13a3 3 0 1 0 3 3h5M18 13a3 3 0 1 1-2.500 4.700M13 8.500 9.500 14",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5",
  playground: "M5 5h14v11H10l-5 4z",
  privacy: "M12 3 5 6v5.500c0 4.500 3 7.500 7 9.500 4-2 7-5 7-9.500V6z",
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.500 20.500a7.500 7.500 0 0 1 15 0",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  check: "m5 13 4.500 4.500L19 7",
  close: "M6 6l12 12M18 6 6 18",
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  arrow: "M19 12H5m6-6-6 6 6 6"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
)
