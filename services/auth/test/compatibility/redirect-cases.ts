import type { MailApp } from '../mail-app.ts'
import type { OptionCases } from './option-case.ts'

/** Opens an invalid link. @returns the target of the redirect */
async function followDeadLink({ app }: MailApp, redirectTo: string) {
  const query = new URLSearchParams({ type: 'signup', token: 'dead', redirect_to: redirectTo })
  return String((await app.inject(`/verify?${query}`)).headers.location)
}

/** Cases about the targets of redirects. */
export const redirectCases = {
  compareSiteRedirectsBy: {
    settings: { AUTH_SITE_URL: 'http://localhost:3000/start' },
    observe: async (service) => {
      const targets = ['http://localhost:5173/a', 'https://localhost:3000/a', 'exp://127.0.0.1:19000/a']
      const reached = await Promise.all(targets.map((target) => followDeadLink(service, target)))
      return reached.map((address) => address.split('#')[0])
    },
    compatible: ['http://localhost:5173/a', 'https://localhost:3000/a', 'http://localhost:3000/start'],
    supabase: ['http://localhost:5173/a', 'http://localhost:3000/start', 'exp://127.0.0.1:19000/a'],
  },
  addSlashToEmptyPath: {
    settings: {
      AUTH_SITE_URL: 'http://localhost:3000',
      AUTH_URI_ALLOW_LIST: 'myapp://callback',
    },
    observe: async (service) => {
      const { headers } = await service.app.inject('/callback?error=access_denied')
      return [
        (await followDeadLink(service, 'myapp://callback')).split('#')[0],
        (await followDeadLink(service, '')).split('#')[0],
        String(headers.location).split('?')[0],
      ]
    },
    compatible: ['myapp://callback/', 'http://localhost:3000/', 'http://localhost:3000/'],
    supabase: ['myapp://callback', 'http://localhost:3000', 'http://localhost:3000'],
  },
} as const satisfies OptionCases
