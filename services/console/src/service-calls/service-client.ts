import { Readable } from 'node:stream'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { createOutbound, hostOf } from '@trestle/common/outbound/outbound.ts'
import { serviceBusy, serviceUnavailable } from '../errors.ts'
import { type OpenFile, readAnswer, type SendCall, type ServiceCall, type ServiceName, urlOf } from './service-call.ts'

/** How long a page waits for a service, in milliseconds. */
const TIMEOUT_MS = 10_000
/** The longest transfer of a file. Services close the connection earlier if a file does not progress. */
const FILE_TIMEOUT_MS = 3_600_000
/** More than the largest complete answer: the bank files of 5,000 payouts, as base64. */
const BYTES_MAX = 16 * 1024 * 1024
/** From this status on, it is unknown whether a change was made: the service is unavailable or defective. */
const UNAVAILABLE_STATUS = 500
/** The status of a service that sends too many files already, or that starts or stops. */
const BUSY_STATUS = 503

export interface ServiceClient {
  readonly send: SendCall
  readonly openFile: OpenFile
}

/**
 * Calls the services through a client that follows no redirects and limits answers. The client calls only the hosts in the
 * settings, but also private addresses.
 * @returns calls that reject with serviceUnavailable if the service does not answer in time or answers 5xx
 */
export function createServiceClient(urls: Readonly<Partial<Record<ServiceName, string>>>): ServiceClient {
  const outbound = createOutbound(Object.values(urls).map(hostOf))
  const requestTo = ({ service, path, query }: Pick<ServiceCall, 'service' | 'path' | 'query'>) => {
    const base = urls[service]
    if (base === undefined) throw unavailable(service, new Error(`${service} has no address`))
    return { url: urlOf(base, { path, query }), origin: 'operator' } as const
  }
  return {
    send: async (call) => {
      const { service, method, file } = call
      const timeoutMs = file === undefined ? TIMEOUT_MS : FILE_TIMEOUT_MS
      const request = { ...requestTo(call), ...contentOf(call), method, timeoutMs, bytesMax: BYTES_MAX }
      const answer = await reach(service, outbound.send(request))
      requireAnswer(service, answer)
      return readAnswer(service, answer)
    },
    openFile: async (call) => {
      const { service, headers } = call
      const request = { ...requestTo(call), headers, method: 'GET', timeoutMs: FILE_TIMEOUT_MS } as const
      const answer = await reach(service, outbound.open(request))
      const { status, body: bytes } = answer
      if (status < 300) {
        const { 'content-type': type, 'content-disposition': disposition } = answer.headers
        return { kind: 'file', bytes, type: String(type), disposition: String(disposition) }
      }
      bytes.destroy()
      if (status === BUSY_STATUS) throw serviceBusy({ service })
      requireAnswer(service, answer)
      return { kind: 'refused', status }
    },
  }
}

/** The body of a call, with a header for its type. */
function contentOf({ body, file, headers }: Pick<ServiceCall, 'body' | 'file' | 'headers'>) {
  if (file !== undefined) return { headers: { ...headers, 'content-type': file.type }, body: Readable.from(file.bytes) }
  if (body === undefined) return { headers }
  return { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

async function reach<T>(service: ServiceName, asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (cause) {
    throw unavailable(service, cause)
  }
}

function requireAnswer(service: ServiceName, { status }: { readonly status: number }): void {
  if (status >= UNAVAILABLE_STATUS) throw unavailable(service, new Error(`${service} answered ${status}`))
}

function unavailable(service: ServiceName, cause: unknown): HttpError {
  return serviceUnavailable({ service }, { cause })
}
