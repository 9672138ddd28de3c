import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { toAddress } from './address-key.ts'

/**
 * The proxies whose X-Forwarded headers are trusted: a number of hops, or networks (canonical CIDR). 0 and the empty list trust
 * no proxy. `private peer` trusts the peer of the connection, for one hop, if the address of the peer is private.
 */
export type TrustedProxies = number | readonly string[] | 'private peer'

const HOPS_MAX = 99

/** Parses `2`, or `10.0.0.0/8, 2001:db8::1`. Returns `undefined` if the text is neither. */
export function parseTrustedProxies(text: string): Exclude<TrustedProxies, 'private peer'> | undefined {
  if (/^\d+$/.test(text.trim())) return Number(text) <= HOPS_MAX ? Number(text) : undefined
  const networks = text.split(',').map((entry) => toNetwork(entry.trim()))
  return networks.every((network) => network !== undefined) ? networks : undefined
}

/**
 * Returns a function that reads the client's address: the address of the socket or, if proxies are trusted, an address in
 * X-Forwarded-For. Each proxy appends the address of its client, so the header is read from the right. The first address that is
 * not a trusted proxy is the client. The client cannot change anything to the right of its own entry. Empty entries are skipped.
 * An entry that is not an address ends the search, and the proxy that appended it counts as the client.
 */
export function createAddressReader(
  trusted: TrustedProxies,
): (socketAddress: string | undefined, forwardedFor: string | undefined) => string {
  const trusts = createTrust(trusted)
  return (socketAddress, forwardedFor) => {
    let address = toAddress(socketAddress) ?? ''
    let rest = forwardedFor ?? ''
    for (let hop = 0; rest !== '' && trusts(address, hop); ) {
      const comma = rest.lastIndexOf(',')
      const entry = rest.slice(comma + 1).trim()
      rest = rest.slice(0, Math.max(0, comma))
      if (entry === '') continue
      const next = toAddress(entry)
      if (next === undefined) break
      address = next
      hop += 1
    }
    return address
  }
}

/**
 * Returns a function that reads the client's protocol: the protocol of the socket, or the protocol in the X-Forwarded-Proto
 * header of a trusted peer.
 */
export function createProtocolReader(trusted: TrustedProxies): (request: IncomingMessage) => 'https' | 'http' {
  const readForwarded = createForwardedReader(trusted)
  return (request) => {
    const forwarded = readForwarded(request, 'x-forwarded-proto')?.toLowerCase()
    const isSecure = forwarded === undefined ? 'encrypted' in request.socket : forwarded === 'https'
    return isSecure ? 'https' : 'http'
  }
}

/** Reads the last value of an X-Forwarded header, added by the peer. `undefined` if the peer is not trusted. */
function createForwardedReader(
  trusted: TrustedProxies,
): ({ headers, socket }: IncomingMessage, name: string) => string | undefined {
  const trusts = createTrust(trusted)
  return ({ headers, socket }, name) => {
    const value = headers[name]
    if (value === undefined || !trusts(toAddress(socket.remoteAddress) ?? '', 0)) return undefined
    return String(value).split(',').at(-1)?.trim()
  }
}

/**
 * Sets `request.ip` to the address of the client, for every limit and log line. `request.protocol` and `request.host` use the
 * X-Forwarded headers only of a trusted peer. Fastify's own `trustProxy` would also accept an entry that is not an address, or
 * that ends with a port.
 */
export function trustProxies(app: FastifyInstance, trusted: TrustedProxies): void {
  const readAddress = createAddressReader(trusted)
  const readProtocol = createProtocolReader(trusted)
  const readForwarded = createForwardedReader(trusted)
  app.decorateRequest('ip', {
    getter(this: FastifyRequest) {
      return readAddress(this.raw.socket.remoteAddress, this.raw.headers['x-forwarded-for']?.toString())
    },
  })
  app.decorateRequest('protocol', {
    getter(this: FastifyRequest) {
      return readProtocol(this.raw)
    },
  })
  app.decorateRequest('host', {
    getter(this: FastifyRequest) {
      return readForwarded(this.raw, 'x-forwarded-host') ?? this.raw.headers.host ?? ''
    },
  })
}

function createTrust(trusted: TrustedProxies): (address: string, hop: number) => boolean {
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted
  if (trusted === 'private peer') return (address, hop) => hop === 0 && isPrivate(address)
  const networks = trusted.map((network) => ipaddr.parseCIDR(network))
  return (text) => {
    if (isIP(text) === 0) return false
    const address = ipaddr.parse(text)
    return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }
}

/** The address ranges of own machines and containers: loopback, private and link-local. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'uniqueLocal', 'linkLocal'])

function isPrivate(address: string): boolean {
  return isIP(address) !== 0 && PRIVATE_RANGES.has(ipaddr.parse(address).range())
}

/**
 * Returns a network in CIDR form. A single address becomes a network of one address. A network of all addresses is refused,
 * because every client could then choose its address. IPv4 inside IPv6 becomes IPv4, as in `toAddress`.
 */
function toNetwork(entry: string): string | undefined {
  const [host = '', prefix, ...more] = entry.split('/')
  const version = isIP(host)
  if (version === 0 || host.includes('%') || more.length > 0) return undefined
  if (prefix !== undefined && !/^[1-9]\d{0,2}$/.test(prefix)) return undefined
  const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix)
  if (bits > (version === 4 ? 32 : 128)) return undefined
  const address = ipaddr.parse(host)
  if (!(address instanceof ipaddr.IPv6) || !address.isIPv4MappedAddress()) return `${address}/${bits}`
  return bits > MAPPED_BITS ? `${address.toIPv4Address()}/${bits - MAPPED_BITS}` : undefined
}

/** The length of the prefix `::ffff:` before an IPv4 address inside IPv6, in bits. */
const MAPPED_BITS = 96
