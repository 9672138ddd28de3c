import { StackFailure } from '../stack-failure.ts'

export interface DemoAnswer {
  readonly status: number
  readonly body: unknown
}

export interface DemoRequest {
  /** Sent as JSON. */
  readonly body?: object
  /** A text with its media type, sent instead of JSON. */
  readonly text?: { readonly type: string; readonly content: string }
  /** Replaces the client's header `Authorization`. */
  readonly authorization?: string
  /** Error statuses that the caller expects. */
  readonly expected?: readonly number[]
}

export type DemoClient = (method: string, path: string, request?: DemoRequest) => Promise<DemoAnswer>

/**
 * Returns a client of one service.
 *
 * @param url the address of the service
 * @param authorization the header `Authorization`; an empty text sends no such header
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
