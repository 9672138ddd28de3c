import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns the key by which limits count an address. An IPv6 address counts as its /64 network, because a customer has the whole
 * network and could use a new address for each request (RFC 6177). Any other text is its own key.
 */
export function addressKey(text: string): string {
  return networkOf(text, 4)
}

/** Like `addressKey`, but by the /48 network, the largest of one site. It has 65,536 /64 networks. */
export function siteKey(text: string): string {
  return networkOf(text, 3)
}

/** @param parts the number of 16-bit parts of an IPv6 address that belong to its network */
function networkOf(text: string, parts: number): string {
  const address = toAddress(text)
  if (address === undefined) return text
  if (!address.includes(':')) return address
  const named = ipaddr.IPv6.parse(address).parts.slice(0, parts)
  return `${new ipaddr.IPv6([...named, ...Array<number>(8 - parts).fill(0)])}/${parts * 16}`
}

/**
 * Returns the canonical form of an address for limits, logs and rows, or `undefined` if the text is not an address. IPv4 inside
 * IPv6 becomes IPv4. The function removes a port, which some proxies add, and the zone of a link-local address (`%eth0`), which
 * is meaningful on only one machine.
 */
export function toAddress(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const trimmed = text.trim()
  if (isIP(trimmed) === 4) return trimmed
  const bare = trimmed.replace(WITH_PORT, '$1$2')
  const version = isIP(bare)
  if (version !== 6) return version === 4 ? bare : undefined
  return ipaddr.process(bare.replace(/%.*$/, '')).toString()
}

/** Matches `192.0.2.7:1234` and `[2001:db8::1]:1234`. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/
