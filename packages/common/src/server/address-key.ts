import ipaddr from 'ipaddr.js'

/**
 * What an address is counted under: of IPv6 its network of 64 bits, within which one customer has every address and may take a
 * new one for each request (RFC 6177); an IPv4 address, and what is none, itself. Some proxies tell the port too, which is as
 * easily changed.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address
  const bare = address.replace(WITH_PORT, '$1$2')
  if (!ipaddr.isValid(bare)) return address
  const read = ipaddr.process(bare)
  if (!(read instanceof ipaddr.IPv6)) return read.toString()
  return `${new ipaddr.IPv6([...read.parts.slice(0, NETWORK_PARTS), 0, 0, 0, 0])}/64`
}

/** `192.0.2.7:1234`, `[2001:db8::1]:1234`. */
const WITH_PORT = /^(?:(\d+(?:\.\d+){3}):\d+|\[([^\]]+)\](?::\d+)?)$/
/** Of 16 bits each. */
const NETWORK_PARTS = 4
