import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import { expect } from 'vitest'
import { cleanUp } from '../../src/use-cases/clean-up.ts'
import { VERSION } from '../../src/version.ts'
import { OPERATOR } from '../forged-token.ts'
import { openBeside } from '../mail-app.ts'
import { createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

async function runSql(connectionString: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(statements).finally(() => client.end())
}

export const operatorCases = {
  showErrorsOfTriggers: {
    observe: async ({ database, post }) => {
      await runSql(
        database.directUrl,
        `CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'Only for staff' USING HINT = 'Ask Ann'; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON auth.users FOR EACH ROW WHEN (NEW.email = 'stranger@example.com')
           EXECUTE FUNCTION public.refuse()`,
      )
      const { error_id: _, ...body } = (
        await post('/signup', { email: 'stranger@example.com', password: 'correct horse' })
      ).json()
      return body
    },
    compatible: {
      code: 500,
      error_code: 'unexpected_failure',
      msg: 'Unexpected failure, please check server logs for more information',
    },
    supabase: { code: 'P0001', message: 'Only for staff', hint: 'Ask Ann' },
  },
  makesPgcrypto: {
    observe: async ({ deps }) =>
      (await sql`SELECT extname FROM pg_extension WHERE extname = 'pgcrypto'`.execute(deps.db)).rows,
    compatible: [],
    supabase: [{ extname: 'pgcrypto' }],
  },
  refuseStartWithoutRelyingParty: {
    observe: async (service, profile) => {
      const settings = {
        AUTH_PROFILE: profile,
        AUTH_MFA_WEBAUTHN_ENROLL_ENABLED: 'true',
        AUTH_WEBAUTHN_RP_ID: 'example.com',
      }
      return openBeside(service, settings).then(
        async (without) => {
          const { webauthn } = without.deps.config.mfa
          const { warnings } = without.deps.config
          await without.close()
          return [webauthn, warnings.filter((warning) => warning.includes('WebAuthn'))]
        },
        (error: unknown) => String(error).split('\n'),
      )
    },
    compatible: [
      'ConfigError: config: AUTH_WEBAUTHN_RP_DISPLAY_NAME is required when passkeys or WebAuthn factors are on',
      'config: AUTH_WEBAUTHN_RP_ORIGINS is required when passkeys or WebAuthn factors are on',
    ],
    supabase: [
      { enrolEnabled: false, verifyEnabled: false },
      [
        'passkeys and WebAuthn factors are off, because AUTH_WEBAUTHN_RP_DISPLAY_NAME, AUTH_WEBAUTHN_RP_ORIGINS is not set',
      ],
    ],
  },
  healthName: {
    observe: async ({ app }) => (await app.inject('/health')).json(),
    compatible: {
      version: VERSION,
      name: 'Auth',
      description: 'Auth is a user registration and authentication API',
    },
    supabase: {
      version: expect.stringMatching(/^v2\.\d+\.\d+$/),
      name: 'GoTrue',
      description: 'GoTrue is a user registration and authentication API',
    },
  },
  userListRowsMax: {
    observe: async ({ app, deps }) => {
      const users = Array.from({ length: 2_150 }, (_, n) => ({
        aud: 'many',
        role: 'authenticated',
        email: `many${n}@example.com`,
      }))
      const headers = { ...OPERATOR, 'x-jwt-aud': 'many' }
      const list = async (query: string) => {
        const answer = await app.inject({ url: `/admin/users?${query}`, headers })
        const { users: found = [], aud, error_code: code } = answer.json()
        const emails = found.map(({ email }: { readonly email: string }) => email)
        return [code ?? aud, emails.length, new Set(emails).size, answer.headers['x-total-count']]
      }
      await deps.db
        .insertInto('users')
        .values(users.map((user) => ({ id: randomUUID(), ...user })))
        .execute()
      return [await list('per_page=5000'), await list('per_page=1500&page=2'), await list('per_page=50001')]
    },
    compatible: Array(3).fill(['validation_failed', 0, 0, undefined]),
    supabase: [
      ['many', 2_150, 2_150, '2150'],
      ['many', 650, 650, '2150'],
      ['validation_failed', 0, 0, undefined],
    ],
  },
  acceptPageZero: {
    observe: async ({ app }) => (await app.inject({ url: '/admin/users?page=0', headers: OPERATOR })).statusCode,
    compatible: 400,
    supabase: 200,
  },
  ignoreNewAudience: {
    observe: async (service) => {
      const { user } = await createSignedUp(service.deps)
      const [url, payload] = [`/admin/users/${user.id}`, { aud: 'another', role: 'editor' }]
      const { aud, role } = (await service.app.inject({ method: 'PUT', url, payload, headers: OPERATOR })).json()
      return [aud, role]
    },
    compatible: ['another', 'editor'],
    supabase: ['authenticated', 'editor'],
  },
  acceptProviderNameInAnyCase: {
    settings: {
      AUTH_EXTERNAL_GITHUB_ENABLED: 'true',
      AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'client',
      AUTH_EXTERNAL_GITHUB_SECRET: 'secret',
      AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'http://localhost:8081/callback',
    },
    observe: async ({ app }) => {
      const { statusCode, headers } = await app.inject('/authorize?provider=GitHub')
      return [statusCode, String(headers.location).split('?')[0]]
    },
    compatible: [400, 'undefined'],
    supabase: [302, 'https://github.com/login/oauth/authorize'],
  },
  sendErrorCodeHeader: {
    observe: async ({ app }) => {
      const [refused, lost, fine] = await Promise.all(['/user', '/nothing', '/settings'].map((url) => app.inject(url)))
      return [refused, lost, fine].map((answer) => answer?.headers['x-sb-error-code'])
    },
    compatible: [undefined, undefined, undefined],
    supabase: ['no_authorization', 'not_found', undefined],
  },
  CUSTOM_OAUTH_ENABLED: {
    observe: async ({ app }) => {
      const { statusCode, body } = await app.inject({ url: '/admin/custom-providers', headers: OPERATOR })
      return [statusCode, JSON.parse(body).error_code]
    },
    compatible: [404, 'feature_disabled'],
    supabase: [200, undefined],
  },
  ANONYMOUS_USER_RETENTION: {
    observe: async ({ deps }) => {
      const id = randomUUID()
      const user = { id, aud: '', role: '', is_anonymous: true, created_at: new Date(0) }
      await deps.db.insertInto('users').values(user).execute()
      await cleanUp({ ...deps, countRows: () => {}, places: new Map() })
      const { rows } = await sql<{ left: number }>`
        SELECT count(*)::int AS left FROM ${sql.table('users')} WHERE id = ${id}`.execute(deps.db)
      return rows
    },
    compatible: [{ left: 0 }],
    supabase: [{ left: 1 }],
  },
  AUDIT_LOG_RETENTION: {
    observe: async ({ deps }) => {
      const entry = { action: 'login', log_type: 'account', payload: {}, created_at: new Date(0) }
      await deps.db.insertInto('audit_log_entries').values(entry).execute()
      await cleanUp({ ...deps, countRows: () => {}, places: new Map() })
      const { rows } = await sql<{ left: number }>`
        SELECT count(*)::int AS left FROM ${sql.table('audit_log_entries')} WHERE created_at = 'epoch'`.execute(deps.db)
      return rows
    },
    compatible: [{ left: 0 }],
    supabase: [{ left: 1 }],
  },
  inviteCreatedUsers: {
    observe: async (service) => {
      const payload = { email: 'made-by-an-admin@example.com', password: 'correct horse' }
      const user = (await service.post('/admin/users', payload, OPERATOR)).json()
      await service.idle()
      return ['invited_at' in user, 'confirmation_sent_at' in user, service.recipients().includes(payload.email)]
    },
    compatible: [true, true, true],
    supabase: [false, false, false],
  },
} as const satisfies OptionCases
