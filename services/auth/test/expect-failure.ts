import { expect } from 'vitest'
import type { TestApp } from './auth-app.ts'

/** The status, code and text of an error. */
export type Failure = readonly [status: number, code: string, text: string, details?: object]

/** A request that the service rejects. */
export interface FailingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: object | string
}

/** Sends the request twice, and compares the whole error body in both versions (reference: Error bodies). */
export async function expectFailure(
  { app }: Pick<TestApp, 'app'>,
  { payload, ...request }: FailingRequest,
  [status, code, text, details = {}]: Failure,
): Promise<void> {
  const ask = async (version: Record<string, string>) => {
    const headers = { ...request.headers, ...version }
    const answer = await app.inject({ ...request, headers, ...(payload === undefined ? {} : { payload }) })
    return { status: answer.statusCode, body: answer.json() }
  }
  expect(await ask({})).toEqual({ status, body: { code: status, error_code: code, msg: text, ...details } })
  const versioned = await ask({ 'x-supabase-api-version': '2024-01-01' })
  expect(versioned).toEqual({ status, body: { code, message: text, ...details } })
}
