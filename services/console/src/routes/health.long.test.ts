import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'

let test: TestConsole
beforeAll(async () => {
  test = await openTestConsole([{ name: 'auth', url: 'http://127.0.0.1:1' }])
})
afterAll(() => test.close())

describe('GET /health', () => {
  it('200: answers while the process lives, whether services answer or not', async () => {
    const answer = await test.app.inject('/health')
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }])
  })
})
