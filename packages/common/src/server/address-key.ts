import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The key under which limits count an address. IPv6 addresses count as their network of 64 bits: a customer has all its
 * addresses and could use a new one for each request (RFC 6177). Other texts count as they are.
 */
export function addressKey(text: string): string {
  return networkOf(text, 4)
}

/** As `addressKey`, but with the IPv6 network of 48 bits, the largest that one site gets. It has 65,536 networks of 64 bits. */
export function siteKey(text: string): string {
  return networkOf(text, 3)
}

/** @param parts how many of the eight 16-bit parts of an IPv6 address name its network */
function networkOf(text: string, parts: number): string {
  const address = toAddress(text)
  if (address === undefined) return text
  if (!address.includes(':')) return address
  const named = ipaddr.IPv6.parse(address).parts.slice(0, parts)
  return `${new ipaddr.IPv6([...named, ...Array<number>(8 - parts).fill(0)])}/${parts * 16}`
}

/**
 * The form of an address in limits, logs and rows. Undefined when the text is not an address. IPv4 inside IPv6 becomes
 * IPv4. It leaves out a port, which some proxies add, and the zone of a link-local address (`%eth0`), which has a meaning on
 * one machine only.
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
