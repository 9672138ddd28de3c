import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { createOutbound, hostOf } from '@trestle/common/outbound/outbound.ts'
import { serviceSilent } from '../errors.ts'
import { readAnswer, type SendCall, type ServiceName, urlOf } from './service-call.ts'

/** How long a page waits for a service, in milliseconds. */
const TIMEOUT_MS = 10_000
/** A page of 100 users with their metadata, or a file of 10,000 lines. */
const BYTES_MAX = 16 * 1024 * 1024
/** A service that answers this cannot do what it is asked now. */
const SILENT_STATUS = 500

/**
 * Makes calls to the services, by the guarded client: it follows no redirect and bounds answers. Only the hosts of the settings are
 * called, wherever they are.
 */
export function createSendCall(urls: Readonly<Partial<Record<ServiceName, string>>>): SendCall {
  const outbound = createOutbound(Object.values(urls).map(hostOf))
  return async ({ service, method, path, query, body, headers }) => {
    const base = urls[service]
    if (base === undefined) throw silent(service, new Error(`${service} has no address`))
    const answer = await outbound
      .send({
        method,
        url: urlOf(base, { path, query }),
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        origin: 'operator',
      })
      .catch((cause: unknown) => {
        throw silent(service, cause)
      })
    if (answer.status >= SILENT_STATUS) {
      throw silent(service, new Error(`${service} answered ${answer.status}`))
    }
    return readAnswer(answer)
  }
}

function silent(service: ServiceName, cause: unknown): HttpError {
  return serviceSilent({ service }, { cause })
}
