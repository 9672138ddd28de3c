import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAutocannon, readWrkOutput } from './load.ts'

const folder = mkdtempSync(join(tmpdir(), 'load-'))
const seen: { url: string; authorization: string | undefined; token: string }[] = []
/** Answers a token with the next token: `a1` with `a2`. A repeated token gets 409. */
const server = createServer(async (request, response) => {
  const body = await text(request)
  const { token = '' }: { token?: string } = body === '' ? {} : JSON.parse(body)
  const isRepeated = seen.some((other) => other.token === token && token !== '')
  seen.push({ url: request.url ?? '', authorization: request.headers.authorization, token })
  const next = token.replace(/\d+$/, (digits) => String(Number(digits) + 1))
  response.writeHead(isRepeated ? 409 : 200, { 'content-type': 'application/json' }).end(`{"token": "${next}"}`)
})
let url = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = portOf(server)
  url = `http://127.0.0.1:${port}`
})

afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

describe('createAutocannon', () => {
  it('uses each token of a chain once, and replaces placeholders in braces', async () => {
    const result = await createAutocannon({ folder, cores: undefined })(
      url,
      {
        method: 'POST',
        path: '/things/{id}?n={sequence}',
        idMax: 9,
        headers: { authorization: 'Bearer {token}' },
        body: '{"token":"{token}"}',
        tokens: ['a1', 'b1', 'c1'],
        chain: 'token',
        connections: 2,
      },
      1,
    )
    expect(result.errors).toBe(0)
    expect(result.requestsPerSecond).toBeGreaterThan(0)
    expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms)
    expect(new Set(seen.map(({ token }) => token[0]))).toEqual(new Set(['a', 'b', 'c']))
    expect(seen.every(({ authorization, token }) => authorization === `Bearer ${token}`)).toBe(true)
    expect(seen.every((request) => /^\/things\/[1-9]\?n=\d+$/.test(request.url))).toBe(true)
    expect(new Set(seen.map((request) => request.url.split('=')[1])).size).toBe(seen.length)
  })
})

describe('readWrkOutput', () => {
  it('reads the line that the script adds to the output of wrk', () => {
    const output = 'Running 1s test\n  10 requests\n@@{"requestsPerSecond":10.5,"p50Ms":1.25,"p99Ms":9,"errors":2}@@\n'
    expect(readWrkOutput(output)).toEqual({ requestsPerSecond: 10.5, p50Ms: 1.25, p99Ms: 9, errors: 2 })
  })

  it('throws with the output of wrk when the line is missing', () => {
    expect(() => readWrkOutput('unable to connect')).toThrow('wrk has printed no result: unable to connect')
  })
})
