import { OPERATOR } from '../forged-token.ts'
import { createSignedIn } from '../signed-in.ts'
import { createSignedUp } from '../signed-up.ts'
import type { BehaviourCases } from './behaviour-case.ts'

const TIME = '2026-01-02T03:04:05.123456+00:00'

/** The last characters of a time. */
const endOf = (time: unknown): string => String(time).replace(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}/, '')

/** Members and headers of answers. */
export const memberCases = {
  timesEndInZ: {
    observe: async (service) => {
      const user_metadata = { seen_at: TIME }
      const signedIn = await createSignedIn(service, { raw_user_meta_data: user_metadata, banned_until: '2001-02-03' })
      const get = (url: string, headers: Record<string, string> = OPERATOR) => service.app.inject({ url, headers })
      const own = (await get('/user', signedIn.headers)).json()
      const [{ created_at: listed }] = (await get('/admin/users?per_page=1')).json().users
      const streamed = (await get('/admin/users?per_page=20000')).body.match(/"updated_at":"([^"]*)"/)?.[1]
      const [{ created_at: audited }] = (await get('/admin/audit?per_page=1')).json()
      const times = [own.created_at, own.banned_until, own.identities[0].updated_at, listed, streamed, audited]
      return [...times.map(endOf), own.user_metadata.seen_at]
    },
    compatible: ['+00:00', '+00:00', '+00:00', '+00:00', 'undefined', '+00:00', TIME],
    supabase: ['Z', 'Z', 'Z', 'Z', 'Z', 'Z', TIME],
  },
  identitiesShowSignIn: {
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const [identity] = (await service.app.inject({ url: '/user', headers })).json().identities
      return 'last_sign_in_at' in identity && identity.last_sign_in_at === identity.created_at
    },
    compatible: false,
    supabase: true,
  },
  sessionHeaders: {
    observe: async (service) => {
      const { email, password, user } = await createSignedUp(service.deps)
      const signIn = await service.post('/token?grant_type=password', { email, password })
      const { refresh_token: token } = signIn.json()
      const refresh = () => service.post('/token?grant_type=refresh_token', { refresh_token: token })
      const [first, again] = [await refresh(), await refresh()]
      await service.post('/magiclink', { email })
      const { link } = await service.readMail(email)
      const followed = await service.app.inject(link.pathname + link.search)
      return [signIn, first, again, followed].map(({ headers, statusCode, body }) => {
        const named = headers['sb-auth-user-id'] === user.id && String(headers['sb-auth-session-id']).length
        const newToken = statusCode === 303 ? undefined : JSON.parse(body).refresh_token
        const prefix = headers['sb-auth-refresh-token-prefix']
        const isPrefix = newToken === undefined ? prefix !== undefined : newToken.slice(0, 5) === prefix
        return [named, isPrefix, headers['sb-auth-refresh-token-reuse']]
      })
    },
    compatible: Array(4).fill([false, false, undefined]),
    supabase: [
      [36, true, undefined],
      [36, true, 'false'],
      [36, true, undefined],
      [36, true, undefined],
    ],
  },
} as const satisfies BehaviourCases
