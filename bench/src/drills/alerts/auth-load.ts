import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { PASSWORD } from '../../fixtures.ts'
import { type Action, send, sendOrThrow } from './client.ts'
import type { Stage } from './stage.ts'

const USERS = 8
const Session = z.object({ access_token: z.string(), refresh_token: z.string() })
type Session = z.infer<typeof Session>

/** A user who stays signed in. */
interface User {
  readonly email: string
  session: Session
  /** A client sends the next refresh token only after it has the answer to the last one. */
  isRefreshing: boolean
}

/** Makes a user who is signed in. */
async function signUp(url: string): Promise<User> {
  const email = `${randomUUID()}@example.com`
  const session = Session.parse(await sendOrThrow('POST', `${url}/signup`, { body: { email, password: PASSWORD } }))
  return { email, session, isRefreshing: false }
}

/** Signs a user in again. */
export async function signIn(url: string, email: string): Promise<Session> {
  return Session.parse(
    await sendOrThrow('POST', `${url}/token?grant_type=password`, { body: { email, password: PASSWORD } }),
  )
}

/** Spends a refresh token. Undefined if auth refuses it. */
export async function refresh(url: string, token: string): Promise<Session | undefined> {
  const { body } = await send('POST', `${url}/token?grant_type=refresh_token`, { body: { refresh_token: token } })
  return Session.safeParse(body).data
}

/** Users read their account, refresh (now and then twice), sign in and ask for a new password. */
export async function prepareAuthLoad({ auth: { url } }: Pick<Stage, 'auth'>): Promise<readonly Action[]> {
  const users: User[] = []
  while (users.length < USERS) users.push(await signUp(url))
  const next = (): User => {
    const [user, ...others] = users.splice(0, USERS)
    if (!user) throw new Error('nobody is signed up')
    users.push(...others, user)
    return user
  }
  const post = (path: string, body: object) => send('POST', url + path, { body })
  const read: Action = async () => {
    const headers = { authorization: `Bearer ${next().session.access_token}` }
    return [(await send('GET', `${url}/user`, { headers })).status]
  }
  const rotate = (times: number): Action => {
    return async () => {
      const user = next()
      if (user.isRefreshing) return []
      user.isRefreshing = true
      const body = { refresh_token: user.session.refresh_token }
      const replies = await Promise.all(
        Array.from({ length: times }, () => post('/token?grant_type=refresh_token', body)),
      )
      const sessions = replies.flatMap((reply) => Session.safeParse(reply.body).data ?? [])
      // A fault costs answers, and so tokens of sessions: the user signs in again.
      user.session = sessions.at(-1) ?? (await signIn(url, user.email).catch(() => user.session))
      user.isRefreshing = false
      return replies.map(({ status }) => status)
    }
  }
  const tryPassword = (password: string): Action => {
    return async () => [(await post('/token?grant_type=password', { email: next().email, password })).status]
  }
  const forget = (path: string): Action => {
    return async () => [(await post(path, { email: next().email })).status]
  }
  const signUpAnother: Action = async () => {
    const { status } = await post('/signup', { email: `${randomUUID()}@example.com`, password: PASSWORD })
    return [status]
  }
  return [
    ...[read, rotate(1), read, forget('/recover'), read, tryPassword(PASSWORD), read, rotate(2)],
    ...[forget('/magiclink'), read, signUpAnother, forget('/recover'), read, tryPassword('wrong'), rotate(1)],
  ]
}
