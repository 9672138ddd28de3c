import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { describe, expect, it } from 'vitest'
import { loadAuthConfig } from '../config.ts'
import { checkTemplates, createTemplateLoader } from './mailer.ts'

const { mail } = loadAuthConfig({
  AUTH_SITE_URL: 'https://app.example.com',
  AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
  AUTH_DB_DRIVER: 'postgres',
  AUTH_DATABASE_URL: 'postgres://localhost/x',
  AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
  AUTH_MAILER_AUTOCONFIRM: 'true',
  AUTH_MAILER_TEMPLATES_INVITE: 'https://name:password@cdn.example.com/mails/invite.html?signature=of-a-stranger#top',
})
const outbound: Outbound = {
  mayCall: () => true,
  send: async () => ({ status: 403, body: '', contentType: '' }),
  open: () => Promise.reject(new Error('not called')),
}
const shown = 'https://cdn.example.com/mails/invite.html'

describe('a template whose address has a signature and a password', () => {
  it('is named in the log without them', async () => {
    const lines: unknown[] = []
    const logger = { warn: (line: object) => lines.push(line) }
    await createTemplateLoader(mail, outbound, logger).body('INVITE', new Date())
    expect(lines).toEqual([{ err: new Error('cdn.example.com answered 403'), kind: 'INVITE', url: shown }])
  })

  it('is named by the doctor without them', async () => {
    expect(await checkTemplates(mail, outbound)).toEqual({
      count: 0,
      problems: [`INVITE (${shown}): cdn.example.com answered 403`],
    })
  })
})
