import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'

const { app, close } = await openTestApp()
afterAll(close)

it('200: GET /health answers name and version', async () => {
  const answer = await app.inject('/health')
  expect([answer.statusCode, answer.json()]).toEqual([
    200,
    { version: '0.1.0', name: 'Auth', description: 'Auth is a user registration and authentication API' },
  ])
})
