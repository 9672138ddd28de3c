import { lookup as lookUp } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { createAddressRules, type OwnHost } from './address-rules.ts'

export interface OutboundRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  readonly bytesMax?: number
  /** What happens to a longer answer: it is refused (the default), or its status and beginning are taken. */
  readonly beyondMax?: 'refuse' | 'cut'
  /** `operator`: the address is a setting's own, and may name loopback literally. `data`: it came from elsewhere. */
  readonly origin: 'operator' | 'data'
}

export interface OutboundAnswer {
  readonly status: number
  readonly body: string
  /** The header, empty where there is none. */
  readonly contentType: string
}

/** Calls to other servers, which never reach what is inside the own network. */
export interface Outbound {
  /** False when the URL itself tells that a call would be refused: its scheme, or an address in the place of a name. */
  mayCall(request: Pick<OutboundRequest, 'url' | 'origin'>): boolean
  /** Redirects are not followed. @throws Error when the target is refused, silent, or answers too much */
  send(request: OutboundRequest): Promise<OutboundAnswer>
}

/** Finds the addresses of a name, as `dns.lookup` with `all`. */
export type Resolve = (
  name: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly ResolvedAddress[]) => void,
) => void

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** The target is one that is never called: to try again is of no use. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
}

const BYTES_MAX = 1_048_576

/** @param allowedHosts host names, addresses and CIDRs inside the own network that the operator permits */
export function createOutbound(allowedHosts: readonly string[], resolve: Resolve = lookUp): Outbound {
  const isAllowed = createAddressRules(allowedHosts)
  // A connection that is kept was judged for one origin: the other must not find it.
  const agents = new Map<OwnHost['origin'], Promise<Dispatcher>>()
  const agentFor = (origin: OwnHost['origin']): Promise<Dispatcher> => {
    const agent = agents.get(origin) ?? openAgent(checkedLookup(isAllowed, resolve, origin))
    agents.set(origin, agent)
    return agent
  }
  // Nothing is looked up for an address that stands in the URL itself.
  const mayCall: Outbound['mayCall'] = ({ url, origin }) => {
    const host = hostOf(url)
    return /^https?:/i.test(url) && (isIP(host) === 0 || isAllowed(host, { host, origin }))
  }
  return {
    mayCall,
    send: async (request) => {
      if (!mayCall(request)) throw refused(hostOf(request.url))
      return exchange(await agentFor(request.origin), request)
    },
  }
}

/** The host that a URL names, of IPv6 without brackets, as the list of allowed hosts has it. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** Resolves a name and hands over only addresses that were checked, so the connection goes to what was judged. */
function checkedLookup(
  isAllowed: ReturnType<typeof createAddressRules>,
  resolve: Resolve,
  origin: OwnHost['origin'],
): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0)
      const allowed = addresses.filter(({ address }) => isAllowed(address, { host, origin }))
      const [first] = allowed
      if (!first) return callback(refused(host), '', 0)
      return options.all ? callback(null, allowed) : callback(null, first.address, first.family)
    })
  }
}

function refused(host: string): Error {
  return new AddressRefused(`the address of ${host} is not one that this service may call`)
}

/** With the first call: no start waits for the library. */
async function openAgent(lookup: LookupFunction): Promise<Dispatcher> {
  const { Agent } = await import('undici')
  return new Agent({ connect: { lookup } })
}

async function exchange(dispatcher: Dispatcher, request: OutboundRequest): Promise<OutboundAnswer> {
  const { method, url, headers, body, timeoutMs, bytesMax = BYTES_MAX, beyondMax = 'refuse' } = request
  const { origin, pathname, search } = new URL(url)
  const answer = await dispatcher.request({
    origin,
    path: pathname + search,
    method,
    headers: headers ?? {},
    body: body ?? null,
    signal: AbortSignal.timeout(timeoutMs),
  })
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer.body) {
    size += chunk.length
    chunks.push(chunk)
    if (size <= bytesMax) continue
    if (beyondMax === 'refuse') throw new Error(`${origin} answered more than ${bytesMax} bytes`)
    break
  }
  const { 'content-type': contentType = '' } = answer.headers
  return {
    status: answer.statusCode,
    body: Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8'),
    contentType: String(contentType),
  }
}
