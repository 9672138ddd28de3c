import { isIP } from 'node:net'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthConfig } from '../config.ts'

/** Where a request comes from, as far as each use may believe it (contract 7.12 and 9.4). */
export interface ClientAddress {
  /** Key of the request buckets, of IPv6 the network; undefined: the request is not limited. */
  readonly limitKey: string | undefined
  /** The socket's address, or the one that SECURITY_FORWARDED_FOR_ENABLED lets a proxy tell. */
  readonly trusted: string
  /** For the audit trail only: X-Forwarded-For is believed where nothing better is known. */
  readonly audit: string
}

interface Sources {
  readonly socket: string
  header(name: string): string | undefined
}

/** Reads the addresses of a request. */
export function readClientAddress(config: AddressConfig, { socket, header }: Sources): ClientAddress {
  const forwarded = config.forwardedForEnabled ? toAddress(header('auth-forwarded-for')?.split(',')[0]) : undefined
  const trusted = forwarded ?? toAddress(socket) ?? ''
  const limitHeader = config.limitHeader === undefined ? undefined : header(config.limitHeader)
  const named = forwarded ?? (limitHeader?.split(',')[0]?.trim() || undefined)
  return {
    limitKey: named && addressKey(named),
    trusted,
    audit: forwarded ?? header('x-forwarded-for')?.split(',').map(toAddress).find(isDefined) ?? trusted,
  }
}

interface AddressConfig {
  readonly forwardedForEnabled: boolean
  readonly limitHeader: string | undefined
}

/** Sets `request.clientAddress` and the log line's `remote_addr`; says once when a proxy does not send the header that it should. */
export const clientAddress = fp<{ readonly config: Pick<AuthConfig, 'security' | 'rateLimits'> }>(
  async (app: FastifyInstance, { config }) => {
    const addresses: AddressConfig = {
      forwardedForEnabled: config.security.forwardedForEnabled,
      limitHeader: config.rateLimits.header,
    }
    let warned = false
    app.decorateRequest('clientAddress')
    app.addHook('onRequest', (request, _reply, done) => {
      const header = (name: string): string | undefined => {
        const value = request.headers[name]
        return Array.isArray(value) ? value[0] : value
      }
      request.clientAddress = readClientAddress(addresses, { socket: request.ip, header })
      request.logFields = { remote_addr: request.clientAddress.trusted }
      if (!warned && addresses.limitHeader !== undefined && request.clientAddress.limitKey === undefined) {
        warned = true
        app.log.warn({ header: addresses.limitHeader }, 'a request came without the header of the rate limits')
      }
      done()
    })
  },
  { name: 'client-address' },
)

/**
 * An address as PostgreSQL's inet takes it, or undefined when the text is none. IPv4 inside IPv6 is IPv4; the zone of a
 * link-local address (`%eth0`) means something on one machine alone, and inet refuses it.
 */
function toAddress(text: string | undefined): string | undefined {
  const address = text?.trim().replace(/^::ffff:(?=\d+\.)/i, '')
  return address !== undefined && isIP(address) !== 0 ? address.replace(/%.*$/, '') : undefined
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    clientAddress: ClientAddress
  }
}
