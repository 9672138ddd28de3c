import type { Answer } from '../answers/answer.ts'
import { errorBody, errorEnvelope, isFault, toCallError } from '../answers/error-answer.ts'
import { ResponseState } from '../answers/response-state.ts'
import type { Controller } from '../controller.ts'
import { CallError, CallStop } from '../errors.ts'
import { FailedCheck } from '../guards/auth.ts'
import { type Call, endpointOf, report } from './call.ts'
import { encodeCall } from './encode-call.ts'

/** Turns a thrown value into an answer. Never rejects. */
export async function answerThrown(call: Call, thrown: unknown): Promise<Answer> {
  const { core, response } = call
  response.reset()
  try {
    const answer = thrown instanceof CallStop ? await answerStop(call, thrown) : await answerError(call, thrown)
    if (thrown instanceof FailedCheck) report(call, thrown.cause)
    else if (isFault(answer.status) && !(thrown instanceof CallStop)) report(call, thrown)
    return answer
  } catch (error) {
    // `onError` threw, or returned a value that cannot be sent. Answer with a new response.
    report(call, error)
    const afresh = { ...call, response: new ResponseState() }
    return encodeError(afresh, toCallError(error, core.settings), errorEnvelope)
  }
}

function answerStop(call: Call, { status, body, headers }: CallStop): Answer | Promise<Answer> {
  setHeaders(call, headers)
  call.response.status = status
  return encodeCall(call, body)
}

async function answerError(call: Call, thrown: unknown): Promise<Answer> {
  const { response, request, core } = call
  response.status = thrown instanceof CallError ? thrown.status : 500
  const value = await answerTo(call, thrown)
  if (value instanceof CallStop) return answerStop(call, value)
  if (value !== thrown && !(value instanceof Error)) return encodeCall(call, value)
  const error = toCallError(value, core.settings)
  return encodeError(call, error, () => errorBody(error, request, core.settings))
}

/** Asks `onError` of the controller and, if it returned an error, `onError` of the application. */
async function answerTo(call: Call, thrown: unknown): Promise<unknown> {
  const { onError } = call.core.settings
  const value = (await controllerOf(call)?.onError(thrown)) ?? thrown
  if (onError === undefined || (value !== thrown && !(value instanceof Error))) return value
  return (await onError(value, call.request)) ?? value
}

function encodeError(call: Call, error: CallError, toBody: (error: CallError) => unknown): Answer | Promise<Answer> {
  setHeaders(call, error.headers)
  call.response.status = error.status
  return encodeCall(call, toBody(error))
}

/** The controller of the call. It is created now if the error came first. */
function controllerOf(call: Call): Controller | undefined {
  if (call.controller !== undefined) return call.controller
  const controller = endpointOf(call.resolution)?.controller
  return controller && new controller(call.request, call.response)
}

function setHeaders({ response }: Call, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
}
