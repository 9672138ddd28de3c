import { expect, it } from 'vitest'
import { createAuthSessions } from './auth-session.ts'

const refresh = (status: number) =>
  createAuthSessions(
    async () => ({ status, body: {}, next: undefined, etag: undefined }),
    new Map([['viewer', 'key']]),
  ).refresh('r0', '127.0.0.1')

it.each([409, 429])('takes no session for ended where auth answers %i to a refresh', async (status) => {
  await expect(refresh(status)).rejects.toThrow('Too many requests. Wait a minute')
})

it('takes a session for ended where auth knows no such refresh token', async () => {
  expect(await refresh(400)).toBeUndefined()
})
