import { StackFailure } from '../stack-failure.ts'

export interface DemoAnswer {
  readonly status: number
  readonly body: unknown
}

export interface DemoRequest {
  /** Sent as JSON. */
  readonly body?: object
  /** In place of JSON: a text and its type. */
  readonly text?: { readonly type: string; readonly content: string }
  /** Another header `Authorization` than that of the client. */
  readonly authorization?: string
  /** Refusals that the caller expects. */
  readonly expected?: readonly number[]
}

/** Sends requests to one service. */
export type DemoClient = (method: string, path: string, request?: DemoRequest) => Promise<DemoAnswer>

/**
 * A client of one service.
 *
 * @param url the address of the service
 * @param authorization the header of that name; empty for none
 */
export function createDemoClient(url: string, authorization = ''): DemoClient {
  return async (method, path, { body, text, authorization: other, expected = [] } = {}) => {
    const credentials = other ?? authorization
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(text && { 'content-type': text.type }),
        ...(credentials && { authorization: credentials }),
      },
      body: body ? JSON.stringify(body) : (text?.content ?? null),
    })
    const answer = await response.text()
    if (!response.ok && !expected.includes(response.status))
      throw new StackFailure([`The demo stopped: ${method} ${path} was answered ${response.status} ${answer.trim()}`])
    return { status: response.status, body: response.ok && answer !== '' ? JSON.parse(answer) : undefined }
  }
}
