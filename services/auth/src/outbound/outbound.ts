import { lookup as resolve } from 'node:dns'
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { createAddressRules, type OwnHost } from './address-rules.ts'

export interface OutboundRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  readonly bytesMax?: number
  /** `operator`: the address is a setting's own, and may name loopback literally. `data`: it came from elsewhere. */
  readonly origin: 'operator' | 'data'
}

export interface OutboundAnswer {
  readonly status: number
  readonly body: string
}

/** Calls to other servers, which never reach what is inside the own network (contract 9.3). */
export interface Outbound {
  /** Redirects are not followed. @throws Error when the target is refused, silent, or answers too much */
  send(request: OutboundRequest): Promise<OutboundAnswer>
}

const BYTES_MAX = 1_048_576

/** @param allowedHosts SECURITY_OUTBOUND_ALLOWED_HOSTS: host names, addresses, CIDRs */
export function createOutbound(allowedHosts: readonly string[]): Outbound {
  const isAllowed = createAddressRules(allowedHosts)
  return {
    send: (request) => {
      const url = new URL(request.url)
      const own: OwnHost = { host: url.hostname.replace(/^\[|\]$/g, ''), origin: request.origin }
      if (isIP(own.host) !== 0 && !isAllowed(own.host, own)) return Promise.reject(refused(own.host))
      return exchange(request, url, checkedLookup(isAllowed, own))
    },
  }
}

type Lookup = NonNullable<RequestOptions['lookup']>

/** Resolves a name and hands over only addresses that were checked, so the connection goes to what was judged. */
function checkedLookup(isAllowed: ReturnType<typeof createAddressRules>, own: OwnHost): Lookup {
  return (hostname, options, callback) => {
    resolve(hostname, { all: true, family: 0 }, (error, addresses) => {
      if (error) return callback(error, '', 0)
      const allowed = addresses.filter(({ address }) => isAllowed(address, own))
      const first = allowed[0]
      if (!first) return callback(refused(hostname), '', 0)
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family)
    })
  }
}

function refused(host: string): Error {
  return new Error(`the address of ${host} is not one that this service may call`)
}

function exchange(request: OutboundRequest, url: URL, lookup: Lookup): Promise<OutboundAnswer> {
  const { method, headers, body, timeoutMs, bytesMax = BYTES_MAX } = request
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return Promise.reject(refused(url.protocol))
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolveAnswer, reject) => {
    const call = send(url, { method, headers, lookup, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('error', reject)
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        if (size > bytesMax) response.destroy(new Error(`${url.host} answered more than ${bytesMax} bytes`))
      })
      response.on('end', () =>
        resolveAnswer({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      )
    })
    call.on('error', reject)
    call.end(body)
  })
}
