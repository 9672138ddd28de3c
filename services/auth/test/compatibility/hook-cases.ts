import { randomUUID } from 'node:crypto'
import { afterAll, expect } from 'vitest'
import { z } from 'zod'
import type { HookName } from '../../src/config/hooks.ts'
import { sendMailByHook, sendSmsByHook } from '../../src/messages/mail-job.ts'
import { anyId } from '../bodies.ts'
import { OPERATOR } from '../forged-token.ts'
import { NOTHING, startHookStub } from '../hook-stub.ts'
import { createSignedUp } from '../signed-up.ts'
import type { OptionCases } from './option-case.ts'

const stub = await startHookStub()
afterAll(() => stub.close())
const settings = stub.settings('PASSWORD_VERIFICATION_ATTEMPT', 'BEFORE_USER_CREATED', 'AFTER_USER_CREATED')

const messageSettings = stub.settings('SEND_EMAIL', 'SEND_SMS')
/** Makes one hook reject its calls. */
const refuseBy = (hook: string) => {
  stub.answer = ({ name }) => (name === hook ? { body: { error: { http_code: 403, message: 'No' } } } : NOTHING)
}

/** Cases about hook calls and the effects of their responses. */
export const hookCases = {
  hookRefusalCode: {
    settings,
    observe: async (service) => {
      stub.answer = () => ({ body: { error: { http_code: 403, message: 'Not from here' } } })
      const answer = await service.post('/signup', {
        email: 'refused-by-a-hook@example.com',
        password: 'correct horse',
      })
      stub.answer = () => NOTHING
      const { error_code: code, msg: text } = answer.json()
      return [answer.statusCode, code, text]
    },
    compatible: [403, 'hook_rejected', 'Not from here'],
    supabase: [403, 'unknown', 'Not from here'],
  },
  sendMetadataToAllHooks: {
    settings: { ...settings, AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' },
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps)
      stub.answer = () => ({ body: { decision: 'continue' } })
      await service.post('/token?grant_type=password', { email, password }, { 'auth-forwarded-for': '203.0.113.7' })
      stub.answer = () => NOTHING
      return stub.callsOf('PASSWORD_VERIFICATION_ATTEMPT').at(-1)?.payload.metadata
    },
    compatible: undefined,
    supabase: { uuid: anyId, time: expect.any(String), name: 'password-verification', ip_address: '203.0.113.7' },
  },
  continueWithoutHookDecision: {
    settings,
    observe: async (service) => {
      const { email, password } = await createSignedUp(service.deps)
      const signIn = async (given: string) => {
        const answer = await service.post('/token?grant_type=password', { email, password: given })
        return [answer.statusCode, answer.json().error_code]
      }
      const silent = [await signIn(password), await signIn('another password')]
      stub.answer = () => ({ body: { decision: 'perhaps' } })
      const vague = await signIn(password)
      stub.answer = () => NOTHING
      return [...silent, vague]
    },
    compatible: [
      [500, 'unexpected_failure'],
      [500, 'unexpected_failure'],
      [500, 'unexpected_failure'],
    ],
    supabase: [
      [200, undefined],
      [400, 'invalid_credentials'],
      [200, undefined],
    ],
  },
  ignoreUnknownHookAnswers: {
    settings,
    observe: async (service) => {
      const signUp = async (body: object, name: string) => {
        stub.answer = () => ({ body })
        const answer = await service.post('/signup', { email: `${name}@example.com`, password: 'correct horse' })
        return [answer.statusCode, answer.json().error_code]
      }
      const answers = [await signUp({ error: 'blocked' }, 'blocked'), await signUp({ ok: true }, 'chatty')]
      stub.answer = () => NOTHING
      return answers
    },
    compatible: [
      [500, 'unexpected_failure'],
      [500, 'unexpected_failure'],
    ],
    supabase: [
      [200, undefined],
      [200, undefined],
    ],
  },
  callMessageHooks: {
    settings: messageSettings,
    observe: async (service) => {
      refuseBy('SEND_EMAIL')
      const answer = await service.post('/otp', { email: 'refused-mail@example.com' })
      stub.answer = () => NOTHING
      return [answer.statusCode, answer.json().error_code]
    },
    compatible: [200, undefined],
    supabase: [403, 'unknown'],
  },
  messageHookPayload: {
    settings: messageSettings,
    observe: async ({ deps }) => {
      const { user, email } = await createSignedUp(deps)
      const [phone, channel] = ['14155550181', 'sms'] as const
      const sms = { to: phone, text: 'Your code is 123456', code: '123456', channel, purpose: 'one_time_code' } as const
      await sendSmsByHook(deps, { ...sms, userId: user.id })
      const variables = { Token: '123456', TokenHash: 'abc', SiteURL: 'http://localhost:3000', Email: email }
      await sendMailByHook(deps, { kind: 'RECOVERY', to: email, messageId: randomUUID(), userId: user.id, variables })
      const lastPayload = (name: HookName) => stub.callsOf(name).at(-1)?.payload
      return [Object.keys(z.looseObject({}).parse(lastPayload('SEND_SMS')?.sms)), lastPayload('SEND_EMAIL')?.email_data]
    },
    compatible: [
      ['otp', 'phone', 'channel', 'message'],
      {
        email_action_type: 'recovery',
        to: expect.any(String),
        token: '123456',
        token_hash: 'abc',
        site_url: 'http://localhost:3000',
      },
    ],
    supabase: [
      ['otp', 'phone'],
      {
        email_action_type: 'recovery',
        token: '123456',
        token_hash: 'abc',
        token_new: '',
        token_hash_new: '',
        redirect_to: 'http://localhost:3000',
        site_url: 'http://localhost:8081',
        old_email: '',
        old_phone: '',
        provider: '',
        factor_type: '',
      },
    ],
  },
  callUserHooks: {
    settings,
    observe: async (service) => {
      refuseBy('AFTER_USER_CREATED')
      const answer = await service.post('/invite', { email: 'told-of@example.com' }, OPERATOR)
      stub.answer = () => NOTHING
      return [answer.statusCode, answer.json().error_code]
    },
    compatible: [200, undefined],
    supabase: [403, 'unknown'],
  },
} as const satisfies OptionCases
