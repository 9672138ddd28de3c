import type { ResponseState } from '../answers/response-state.ts'
import type { Controller } from '../controller.ts'
import type { Core } from '../core.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'
import type { Incoming } from '../request/incoming.ts'
import type { Resolution } from '../routing/resolve.ts'
import type { Endpoint } from '../routing/table.ts'
import type { Target } from '../routing/target.ts'

/** One request on its way to an answer. */
export interface Call {
  readonly core: Core
  readonly incoming: Incoming
  readonly target: Target
  readonly resolution: Resolution | undefined
  readonly request: EndpointRequest
  readonly response: ResponseState
  /** Created when the handler is called, or when `onError` of its class is needed. */
  controller: Controller | undefined
}

/** The endpoint of the path, also when it does not take the verb; undefined when the path leads to none. */
export function endpointOf(resolution: Resolution | undefined): Endpoint | undefined {
  return resolution !== undefined && 'endpoint' in resolution ? resolution.endpoint : undefined
}

/** Logs a defect or an outage: by the option `onFault`, else by the server of the request, else by the application. */
export function report({ core, incoming, request }: Call, error: unknown): void {
  if (incoming.signal().aborted && isCutOff(error)) return
  const { onFault } = core.settings
  const log = incoming.log ?? core.log
  if (onFault !== undefined) onFault(error, request)
  else log(error, `${request.method} ${request.path} failed (request ${request.id})`)
  core.listeners.emit('error', error, request)
}

/** Whether an error only says that something was aborted. After the client has left, that is not worth a log line. */
function isCutOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'AbortError' || ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')
}
