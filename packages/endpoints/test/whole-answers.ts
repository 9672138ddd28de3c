import type { Answered } from './every-interface.ts'

/**
 * Returns the complete JSON answer that `everyInterface` returns.
 * @param headers headers in addition to those of every JSON answer
 */
export function jsonAnswer(status: number, body: string, headers: Answered['headers'] = {}): object {
  return {
    status,
    headers: {
      'content-length': String(Buffer.byteLength(body)),
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'test',
      ...headers,
    },
    body,
  }
}

/** Returns the complete body of an error without issues. */
export const errorBody = (statusCode: number, type: string, description: string): object => ({
  statusCode,
  error: { type, description },
})

/** Returns the complete body of an error about one refused value. */
export const issueBody = (path: string, message: string): object => ({
  statusCode: 400,
  error: { type: 'VALIDATION_ERROR', description: `${path}: ${message}`, issues: [{ path, message }] },
})

/** Returns the complete answer for an error without issues, as `everyInterface` returns it. */
export function errorAnswer(
  status: number,
  type: string,
  description: string,
  headers: Answered['headers'] = {},
): object {
  return jsonAnswer(status, JSON.stringify(errorBody(status, type, description)), headers)
}
