import type { Answered } from './every-interface.ts'

/**
 * The whole answer with JSON, as `everyInterface` gives it.
 * @param headers beside those of every answer with JSON
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

/** The body of an error without issues, whole. */
export const errorBody = (statusCode: number, type: string, description: string): object => ({
  statusCode,
  error: { type, description },
})

/** The body of a refused value, whole. */
export const issueBody = (path: string, message: string): object => ({
  statusCode: 400,
  error: { type: 'VALIDATION_ERROR', description: `${path}: ${message}`, issues: [{ path, message }] },
})

/** The whole answer with an error without issues, as `everyInterface` gives it. */
export function errorAnswer(
  status: number,
  type: string,
  description: string,
  headers: Answered['headers'] = {},
): object {
  return jsonAnswer(status, JSON.stringify(errorBody(status, type, description)), headers)
}
