import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What an address is counted under: of IPv6 its network of 64 bits, within which one customer has every address and may take a
 * new one for each request (RFC 6177); an IPv4 address, and what is none, itself.
 */
export function addressKey(text: string): string {
  return networkOf(text, 4)
}

/** As `addressKey`, but of IPv6 the network of 48 bits: the most that one site gets, with 65,536 networks of 64 bits. */
export function siteKey(text: string): string {
  return networkOf(text, 3)
}

/** @param parts how many of the eight parts of an IPv6 address, of 16 bits each, name its network */
function networkOf(text: string, parts: number): string {
  const address = toAddress(text)
  if (address === undefined) return text
  if (!address.includes(':')) return address
  const named = ipaddr.IPv6.parse(address).parts.slice(0, parts)
  return `${new ipaddr.IPv6([...named, ...Array<number>(8 - parts).fill(0)])}/${parts * 16}`
}

/**
 * The one form of an address in limits, logs and the database, or undefined when the text is none. IPv4 inside IPv6 is
 * IPv4. Left out are a port, which some proxies add, and the zone of a link-local address (`%eth0`), which means something
 * on one machine alone and which PostgreSQL's inet refuses.
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

/** `192.0.2.7:1234`, `[2001:db8::1]:1234`. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/
