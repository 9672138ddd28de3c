import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'

let test: TestConsole
beforeAll(async () => {
  test = await openTestConsole([{ name: 'auth', url: 'http://127.0.0.1:1' }])
})
afterAll(() => test.close())

const ask = async () => {
  const answer = await test.app.inject('/ready')
  return [answer.statusCode, answer.json()]
}

describe('GET /ready', () => {
  it('200: is answered between the start and the end of the process alone', async () => {
    const { readiness } = test.app.deps
    expect(await ask()).toEqual([503, { code: 'starting', message: 'The process is starting' }])
    readiness.markReady()
    expect(await ask()).toEqual([200, { status: 'ready' }])
    readiness.drain()
    expect(await ask()).toEqual([503, { code: 'draining', message: 'The process is stopping' }])
  })
})
