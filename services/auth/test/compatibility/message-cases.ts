import { z } from 'zod'
import { OPERATOR } from '../forged-token.ts'
import { type MailApp, openBeside } from '../mail-app.ts'
import { createSignedIn, signIn } from '../signed-in.ts'
import { createSignedUp } from '../signed-up.ts'
import { SMS_TAKEN } from '../sms-stub.ts'
import type { OptionCases } from './option-case.ts'

const PASSWORD = 'correct horse battery staple'

/** 200, or the error code of a request. */
async function outcome({ post }: MailApp, url: string, payload: object, headers = {}) {
  const { statusCode, body } = await post(url, payload, headers)
  return statusCode === 200 ? 200 : JSON.parse(body).error_code
}

async function changeEmail({ app }: MailApp, headers: Readonly<Record<string, string>>, email: string) {
  const { statusCode, body } = await app.inject({ method: 'PUT', url: '/user', headers, payload: { email } })
  return statusCode === 200 ? 200 : JSON.parse(body).error_code
}

const TOO_SOON = 'over_email_send_rate_limit'

/** Cases about messages, their limits and intervals. */
export const messageCases = {
  SMTP_MAX_FREQUENCY: {
    observe: async (service) => {
      const email = `frequency-${service.deps.config.mail.intervalMs.confirmation}@example.com`
      await service.post('/signup', { email, password: PASSWORD })
      service.clock.advance(60_000)
      const early = await outcome(service, '/resend', { type: 'signup', email })
      service.clock.advance(840_000)
      return [early, await outcome(service, '/resend', { type: 'signup', email })]
    },
    compatible: [TOO_SOON, 200],
    supabase: [200, 200],
  },
  treatZeroFrequencyAsUnset: {
    settings: { AUTH_SMTP_MAX_FREQUENCY: '0s', AUTH_SMS_MAX_FREQUENCY: '0s' },
    observe: async (service) => {
      const [email, phone] = ['zero@example.com', '14155550180']
      await service.post('/recover', { email })
      await service.post('/otp', { phone })
      const again = [await outcome(service, '/recover', { email }), await outcome(service, '/otp', { phone })]
      service.clock.advance(60_000)
      return [...again, await outcome(service, '/recover', { email })]
    },
    compatible: [200, 200, 200],
    supabase: [TOO_SOON, 'over_sms_send_rate_limit', 200],
  },
  startIntervalAtGeneratedLink: {
    observe: async (service) => {
      const { email, headers } = await createSignedIn(service)
      const [invited, fresh] = ['invited-link@example.com', 'fresh-link@example.com']
      const generate = (body: object) => service.post('/admin/generate_link', body, OPERATOR)
      await generate({ type: 'recovery', email })
      await generate({ type: 'email_change_new', email, new_email: 'next-link@example.com' })
      await generate({ type: 'magiclink', email: fresh })
      await service.post('/invite', { email: invited }, OPERATOR)
      return [
        await outcome(service, '/otp', { email }),
        await changeEmail(service, headers, 'next-link@example.com'),
        await outcome(service, '/resend', { type: 'signup', email: fresh }),
        await outcome(service, '/resend', { type: 'signup', email: invited }),
      ]
    },
    compatible: [200, 200, 200, 200],
    supabase: [TOO_SOON, TOO_SOON, TOO_SOON, TOO_SOON],
  },
  shareRecoveryInterval: {
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      return [await outcome(service, '/recover', { email }), await outcome(service, '/magiclink', { email })]
    },
    compatible: [200, 200],
    supabase: [200, TOO_SOON],
  },
  mailsPerEmailChange: {
    settings: { AUTH_RATE_LIMIT_EMAIL_SENT: '2' },
    observe: async (service) => {
      const { headers } = await createSignedIn(service)
      const changed = await changeEmail(service, headers, 'counted@example.com')
      const next = []
      for (const email of ['third@example.com', 'fourth@example.com'])
        next.push(await outcome(service, '/recover', { email }))
      return [changed, ...next]
    },
    compatible: [200, TOO_SOON, TOO_SOON],
    supabase: [200, 200, TOO_SOON],
  },
  createUserOnCodeRequest: {
    observe: async (service) => {
      const [email, signedUp, phone] = ['by-code@example.com', 'before-code@example.com', '14155550193']
      await service.post('/otp', { email, data: { name: 'Ann' } })
      await service.post('/otp', { phone })
      const { mail, link, code } = await service.readMail(email)
      const rows = await service.deps.db
        .selectFrom('users')
        .select(['staged_at', 'recovery_sent_at', 'confirmation_sent_at', 'raw_user_meta_data'])
        .where((where) => where.or([where('email', '=', email), where('phone', '=', phone)]))
        .orderBy('email')
        .execute()
      await service.post('/signup', { email: signedUp, password: PASSWORD })
      return {
        rows: rows.map((row) => [
          row.staged_at === null,
          row.recovery_sent_at !== null,
          row.confirmation_sent_at !== null,
          Object.keys(z.record(z.string(), z.unknown()).parse(row.raw_user_meta_data)),
        ]),
        mail: [mail.subject, link.searchParams.get('type')],
        asMagicLink: await outcome(service, '/verify', { type: 'magiclink', email, token: code }),
        asEmail: await outcome(service, '/verify', { type: 'email', email, token: code }),
        sms: await outcome(service, '/verify', { type: 'sms', phone, token: (await service.sms.read(phone)).code }),
        afterSignUp: await outcome(service, '/otp', { email: signedUp }),
      }
    },
    compatible: {
      rows: [
        [false, true, false, ['name']],
        [false, false, true, []],
      ],
      mail: ['Your sign-in link', 'magiclink'],
      asMagicLink: 200,
      asEmail: 'otp_expired',
      sms: 200,
      afterSignUp: 200,
    },
    supabase: {
      rows: [
        [true, false, true, ['sub', 'name', 'email', 'email_verified', 'phone_verified']],
        [true, false, true, ['sub', 'email_verified', 'phone_verified']],
      ],
      mail: ['Confirm your email address', 'signup'],
      asMagicLink: 'otp_expired',
      asEmail: 200,
      sms: 200,
      afterSignUp: TOO_SOON,
    },
  },
  restartChangeAtResend: {
    observe: async (service) => {
      const { email, headers } = await createSignedIn(service)
      const newEmail = `restarted-${email}`
      await changeEmail(service, headers, newEmail)
      const toNew = await service.readMail(newEmail)
      const toCurrent = await service.readMail(email)
      const agree = (address: string, token: string) =>
        outcome(service, '/verify', { type: 'email_change', email: address, token })
      const first = await agree(newEmail, toNew.code)
      service.clock.advance(61_000)
      await service.post('/resend', { type: 'email_change', email })
      await service.readMail(email)
      return [first, await agree(email, toCurrent.code)]
    },
    compatible: [200, 200],
    supabase: [200, 'otp_expired'],
  },
  acceptTestCodesRepeatedly: {
    settings: { AUTH_SMS_TEST_OTP: '14155550190:123456,14155550191:654321' },
    observe: async (service) => {
      const [phone, other] = ['14155550190', '14155550191']
      await createSignedUp(service.deps, { phone, phone_confirmed_at: new Date().toISOString() })
      const verify = (token: string) => outcome(service, '/verify', { type: 'sms', phone, token })
      const { headers } = await createSignedIn(service)
      await service.app.inject({ method: 'PUT', url: '/user', headers, payload: { phone: other } })
      service.clock.advance(3_600_000)
      return [
        await verify('123456'),
        await Promise.all([verify('123456'), verify('123456')]),
        await verify('654321'),
        await outcome(service, '/verify', { type: 'phone_change', phone: other, token: '654321' }),
      ]
    },
    compatible: ['otp_expired', ['otp_expired', 'otp_expired'], 'otp_expired', 'otp_expired'],
    supabase: [200, [200, 200], 'otp_expired', 200],
  },
  sendSms: {
    observe: async (service) => {
      const phone = '14155550194'
      const find = () => service.deps.db.selectFrom('users').select('phone').where('phone', '=', phone).execute()
      service.sms.answer = { status: 503, body: '' }
      const away = [await outcome(service, '/otp', { phone }), await find()]
      service.sms.answer = SMS_TAKEN
      const asked = await outcome(service, '/otp', { phone })
      const [nobody, waiting] = ['14155550197', '14155550198']
      await service.post('/signup', { phone: waiting, password: PASSWORD })
      service.clock.advance(60_000)
      const resent = []
      for (const to of [nobody, nobody, waiting, waiting])
        resent.push(await outcome(service, '/resend', { type: 'sms', phone: to }))
      return { away, asked, resent }
    },
    compatible: {
      away: [200, [{ phone: '14155550194' }]],
      asked: 'over_sms_send_rate_limit',
      resent: [200, 'over_sms_send_rate_limit', 200, 'over_sms_send_rate_limit'],
    },
    supabase: {
      away: ['sms_send_failed', []],
      asked: 200,
      resent: [200, 200, 200, 'over_sms_send_rate_limit'],
    },
  },
  showMessageIdOf: {
    settings: { AUTH_SMS_TEST_OTP: '14155550192:123456' },
    observe: async (service) => {
      const phone = '14155550192'
      const user = { email: null, phone, phone_confirmed_at: new Date().toISOString() }
      const { headers } = await signIn(service, { phone, ...(await createSignedUp(service.deps, user)) })
      const asked = [await service.post('/otp', { phone })]
      service.clock.advance(60_000)
      asked.push(await service.app.inject({ url: '/reauthenticate', headers }))
      service.clock.advance(60_000)
      for (const body of [
        { type: 'sms', phone },
        { type: 'signup', email: 'nobody@example.com' },
      ])
        asked.push(await service.post('/resend', body))
      return asked.map((answer) => [answer.statusCode, Object.keys(answer.json())])
    },
    compatible: [
      [200, []],
      [200, []],
      [200, ['message_id']],
      [200, ['message_id']],
    ],
    supabase: [
      [200, ['message_id']],
      [200, ['message_id']],
      [200, ['message_id']],
      [200, []],
    ],
  },
  notifyFirstPhoneAsLinked: {
    settings: {
      AUTH_SMS_AUTOCONFIRM: 'true',
      AUTH_MAILER_NOTIFICATIONS_PHONE_CHANGED_ENABLED: 'true',
      AUTH_MAILER_NOTIFICATIONS_IDENTITY_LINKED_ENABLED: 'true',
    },
    observe: async (service) => {
      const { email, headers } = await createSignedIn(service)
      const add = async (phone: string) => {
        await service.app.inject({ method: 'PUT', url: '/user', headers, payload: { phone } })
        return (await service.readMail(email)).mail.subject
      }
      return [await add('14155550195'), await add('14155550196')]
    },
    compatible: ['Your phone number was changed', 'Your phone number was changed'],
    supabase: ['A new sign-in method was linked to your account', 'Your phone number was changed'],
  },
  generatedLinkPath: {
    settings: {
      AUTH_MAILER_URLPATHS_INVITE: '/welcome',
      AUTH_MAILER_URLPATHS_CONFIRMATION: '/confirm',
      AUTH_MAILER_URLPATHS_RECOVERY: '/auth/v1/verify',
      AUTH_MAILER_URLPATHS_EMAIL_CHANGE: 'https://app.example.com/change?a=1',
    },
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      const wanted = [
        { type: 'invite', email: 'invite-path@example.com' },
        { type: 'magiclink', email: 'signup-path@example.com' },
        { type: 'magiclink', email },
        { type: 'recovery', email },
        { type: 'email_change_current', email, new_email: 'change-path@example.com' },
      ]
      const answers = []
      for (const body of wanted) answers.push(await service.post('/admin/generate_link', body, OPERATOR))
      return answers.map((answer) => String(answer.json().action_link).split('token=')[0])
    },
    compatible: Array(5).fill('http://localhost:8081/verify?'),
    supabase: [
      'http://localhost:8081/welcome?',
      'http://localhost:8081/confirm?',
      'http://localhost:8081/auth/v1/verify?',
      'http://localhost:8081/auth/v1/verify?',
      'https://app.example.com/change?a=1&',
    ],
  },
  applyEmailChangeUnderAutoconfirm: {
    settings: { AUTH_MAILER_AUTOCONFIRM: 'true' },
    observe: async (service) => {
      const { email } = await createSignedUp(service.deps)
      const body = { type: 'email_change_current', email, new_email: `changed-${email}` }
      const { hashed_token: token_hash } = (await service.post('/admin/generate_link', body, OPERATOR)).json()
      const answer = (await service.post('/verify', { type: 'email_change', token_hash })).json()
      return ['access_token' in answer, answer.user?.email === body.new_email]
    },
    compatible: [false, false],
    supabase: [true, true],
  },
  refuseStartWithoutMailServer: {
    observe: async (service, profile) => {
      const settings = { AUTH_PROFILE: profile, AUTH_SMTP_HOST: '' }
      return openBeside(service, settings).then(
        async (without) => {
          const { warnings } = without.deps.config
          const body = { email: 'no-mail-server@example.com', password: PASSWORD }
          const signedUp = await outcome(without, '/signup', body)
          await without.close()
          return [signedUp, warnings.filter((warning) => warning.includes('mail'))]
        },
        (error: unknown) => String(error),
      )
    },
    compatible: 'ConfigError: config: AUTH_SMTP_HOST is required',
    supabase: [200, ['mail is dropped, because AUTH_SMTP_HOST is not set']],
  },
} as const satisfies OptionCases
