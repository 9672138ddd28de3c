import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SMS_GATEWAYS, type SmsGatewayName } from '../src/config/sms.ts'
import { loadAuthConfig } from '../src/config.ts'
import { readProfile } from '../src/external-accounts/ask-provider.ts'
import { exchangeCode } from '../src/external-providers/begin-sign-in.ts'
import { createKeySets, discoverMetadata } from '../src/external-providers/key-sets.ts'
import { requestToken } from '../src/external-providers/oauth1-client.ts'
import { keycloak } from '../src/external-providers/providers/keycloak.ts'
import { twitter } from '../src/external-providers/providers/twitter.ts'
import { createHooks } from '../src/hooks/hooks.ts'
import { checkTemplates } from '../src/messages/mailer.ts'
import { createSmsGateway } from '../src/messages/sms-gateway.ts'
import { verifyCaptcha } from '../src/plugins/captcha.ts'
import { REFUSED_HOSTS, REFUSED_KINDS, RESOLVED } from './refused-addresses.ts'

const outbound = createOutbound([], async ({ host }) =>
  (RESOLVED[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
)
/** The addresses and ports to which packets were sent. */
const attempts: string[] = []
const connect = Socket.prototype.connect
vi.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, ...args: Parameters<typeof connect>) {
  this.once('connectionAttempt', (address: string, port: number) => attempts.push(`${address}:${port}`))
  return connect.apply(this, args)
})
beforeEach(() => {
  attempts.length = 0
})
afterAll(() => vi.restoreAllMocks())

const load = (settings: Record<string, string>) =>
  loadAuthConfig({
    AUTH_SITE_URL: 'https://app.example.com',
    AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DATABASE_URL: 'postgres://localhost/x',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    ...settings,
  })

const ACCOUNTS: Readonly<Record<SmsGatewayName, Record<string, string>>> = {
  twilio: {
    AUTH_SMS_TWILIO_ACCOUNT_SID: 'AC1',
    AUTH_SMS_TWILIO_AUTH_TOKEN: 't',
    AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1',
  },
  messagebird: { AUTH_SMS_MESSAGEBIRD_ACCESS_KEY: 'k', AUTH_SMS_MESSAGEBIRD_ORIGINATOR: 'o' },
  textlocal: { AUTH_SMS_TEXTLOCAL_API_KEY: 'k', AUTH_SMS_TEXTLOCAL_SENDER: 's' },
  vonage: { AUTH_SMS_VONAGE_API_KEY: 'k', AUTH_SMS_VONAGE_API_SECRET: 's', AUTH_SMS_VONAGE_FROM: 'f' },
}

async function sendSms(provider: SmsGatewayName, url: string): Promise<unknown> {
  const setting = { [`AUTH_SMS_${provider.toUpperCase()}_API_URL`]: url }
  const { gateway } = load({ AUTH_SMS_PROVIDER: provider, ...ACCOUNTS[provider], ...setting }).sms
  if (!gateway) throw new Error('no gateway')
  const opened = await createSmsGateway(gateway, outbound)
  return opened.send({ to: '14155550100', text: 'x', code: '123456', channel: 'sms' })
}

const ACCOUNT = { clientId: 'c', secret: 's', redirectUri: 'http://localhost', baseUrl: '' }

/** Returns a provider whose URLs are all the same. */
function toProvider(url: string, origin: 'operator' | 'data') {
  const account = { ...ACCOUNT, baseUrl: url }
  const provider = { ...keycloak(account), tokenUrl: url }
  return { name: 'x', provider, account, clientIds: ['c'], emailOptional: false, checksNonce: true, origin }
}

const callers: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a template': async (url) => {
    const { mail } = load({ AUTH_MAILER_TEMPLATES_INVITE: `${url}/t.html` })
    const { problems } = await checkTemplates(mail, outbound)
    if (problems.length > 0) throw new Error(problems.join())
  },
  'a captcha': async (url) => {
    const settings = { AUTH_SECURITY_CAPTCHA_ENABLED: 'true', AUTH_SECURITY_CAPTCHA_SECRET: 's' }
    const { captcha } = load({ ...settings, AUTH_SECURITY_CAPTCHA_URL: url }).security
    if (!captcha) throw new Error('no captcha')
    return verifyCaptcha(outbound, captcha, 'token', '8.8.8.8')
  },
  'a hook': (url) => {
    const hook = { url, keys: [Buffer.alloc(24)] }
    const { logger } = createLogger({ level: 'panic', stdout: false })
    const deps = { outbound, now: () => new Date(), logger, compatibility: load({}).compatibility }
    const hooks = createHooks({ BEFORE_USER_CREATED: hook }, deps)
    return hooks.call('BEFORE_USER_CREATED', {})
  },
  'a provider': (url) => {
    const client = { code: 'x', codeVerifier: undefined, userField: undefined }
    return exchangeCode(outbound, toProvider(url, 'operator'), client)
  },
  'a profile': (url) => {
    const now = () => new Date()
    const grant = { accessToken: 'x', refreshToken: undefined, idToken: undefined, answer: {}, userField: undefined }
    return readProfile(
      { outbound, keySets: createKeySets(outbound, () => new Date()), now },
      toProvider(url, 'operator'),
      grant,
    )
  },
  'an older provider': (url) => {
    const provider = { ...twitter(ACCOUNT), requestTokenUrl: url }
    const deps = { outbound, randomBytes, now: () => new Date() }
    return requestToken(deps, { ...toProvider(url, 'operator'), provider }, 'http://localhost')
  },
  'keys of a provider': async (url) =>
    (await createKeySets(outbound, () => new Date()).find({ jwksUrl: url }))(
      { alg: 'RS256' },
      { payload: '', signature: '' },
    ),
  'an issuer': (url) => discoverMetadata(outbound, { issuer: url.replace('http:', 'https:') }),
  ...Object.fromEntries(SMS_GATEWAYS.map((name) => [name, (url: string) => sendSms(name, url)])),
}

/** Asserts that a call to each host is refused, and that no packet was sent. */
async function expectRefused(hosts: readonly string[], call: (url: string) => Promise<unknown>): Promise<void> {
  for (const url of hosts.flatMap((host) => [`http://${host}`, `https://${host}`])) {
    const error: unknown = await call(url).then(
      () => 'called',
      (reason: unknown) => reason,
    )
    const { cause } = error instanceof Error ? error : {}
    expect(String(cause ?? error), url).toMatch(/is not one that this service may call/)
  }
  expect(attempts).toEqual([])
}

describe('a refused address', () => {
  // ASVS 1.3.6
  it.each(['operator', 'data'] as const)(
    'is not called for a URL of %s, in any of 200 ways of writing it',
    async (origin) => {
      expect(new Set(REFUSED_HOSTS).size).toBeGreaterThan(200)
      await expectRefused(REFUSED_HOSTS, (url) => outbound.send({ method: 'GET', url, timeoutMs: 1_000, origin }))
    },
  )

  // All callers use the same check, so one host of each kind is enough to show that no caller bypasses it.
  it.each(Object.entries(callers))('is never called for %s', (_name, call) => expectRefused(REFUSED_KINDS, call))

  it('would be detected, since the test sees every connection', async () => {
    const request = { method: 'GET', url: 'http://127.0.0.1:1', timeoutMs: 1_000, origin: 'operator' } as const
    await expect(outbound.send(request)).rejects.toThrow('ECONNREFUSED')
    // Connections of earlier test files in this process may reconnect in the meantime, to other ports.
    expect(attempts.filter((to) => to.endsWith(':1'))).toEqual(['127.0.0.1:1'])
  })
})
