/**
 * The mailbox behind an e-mail address, as far as it can be known: without the part after a plus,
 * and at Gmail without dots. It identifies addresses of one person.
 */
const GMAIL = ["gmail.com", "googlemail.com"]

/** `address`: in lower case. The SQL function `mailbox_of` does the same. */
export const mailboxOf = (address: string): string => {
  const at = address.lastIndexOf("@")
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)]
  const [head] = local.split("+", 1)
  const kept = head === undefined || head === "" ? local : head
  return GMAIL.includes(domain) ? `${kept.replaceAll(".", "")}@gmail.com` : `${kept}@${domain}`
}
