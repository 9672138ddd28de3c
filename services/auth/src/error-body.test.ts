import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../test/auth-app.ts'
import { createSignedUp } from '../test/signed-up.ts'
import { errorVocabulary, isVersioned, oauthName, toErrorBody } from './error-body.ts'
import { notReady, serviceUnavailable, userBanned, weakPassword } from './errors.ts'
import { lockUserById } from './users/user-repository.ts'

const { deps, close } = await openTestApp()
afterAll(close)

const context = { apiVersion: undefined, oauthNames: 'none' as const, requestId: 'r1' }
const text = (body: object) => JSON.stringify(body)

describe('toErrorBody', () => {
  it('has the documented members, in their order', () => {
    expect(text(toErrorBody(userBanned(), context))).toBe(
      '{"code":403,"error_code":"user_banned","msg":"User is banned"}',
    )
    expect(text(toErrorBody(userBanned(), { ...context, apiVersion: '2024-01-01' }))).toBe(
      '{"code":"user_banned","message":"User is banned"}',
    )
    expect(text(toErrorBody(notReady({ check: 'm' }), context))).toBe(
      '{"code":503,"error_code":"service_unavailable","msg":"The check of m fails","error_id":"r1"}',
    )
    expect(text(toErrorBody(userBanned(), { ...context, oauthNames: 'beside' }))).toBe(
      '{"code":403,"error_code":"user_banned","msg":"User is banned","error":"invalid_grant","error_description":"User is banned"}',
    )
    const weak = weakPassword({ sentences: 'm' }, { details: { weak_password: { reasons: ['length'] } } })
    expect(text(toErrorBody(weak, { ...context, apiVersion: '2025-06-30' }))).toBe(
      '{"code":"weak_password","message":"m","weak_password":{"reasons":["length"]}}',
    )
  })
})

describe('isVersioned', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['2023-12-31', false],
    ['2024-01-01', true],
    ['2024-13-01', false],
    ['2025-02-30', false],
    ['2024-01-01 ', false],
    ['3000-01-01', true],
    ['latest', false],
  ])('judges the version %s: %s', (version, expected) => {
    expect(isVersioned(version)).toBe(expected)
  })
})

describe('oauthName', () => {
  it.each([
    [400, 'invalid_credentials', 'Invalid login credentials', 'invalid_grant'],
    [400, 'invalid_credentials', 'unsupported_grant_type', 'unsupported_grant_type'],
    [400, 'refresh_token_already_used', '', 'invalid_grant'],
    [400, 'refresh_token_not_found', '', 'invalid_grant'],
    [400, 'session_expired', '', 'invalid_grant'],
    [403, 'session_not_found', '', 'invalid_grant'],
    [404, 'flow_state_not_found', '', 'invalid_grant'],
    [422, 'flow_state_expired', '', 'invalid_grant'],
    [400, 'flow_state_already_used', '', 'invalid_grant'],
    [400, 'bad_code_verifier', '', 'invalid_grant'],
    [403, 'user_banned', '', 'invalid_grant'],
    [400, 'email_not_confirmed', '', 'invalid_grant'],
    [400, 'phone_not_confirmed', '', 'invalid_grant'],
    [400, 'validation_failed', '', 'invalid_request'],
    [400, 'captcha_failed', '', 'invalid_request'],
    [422, 'email_provider_disabled', '', 'unauthorized_client'],
    [422, 'phone_provider_disabled', '', 'unauthorized_client'],
    [422, 'anonymous_provider_disabled', '', 'unauthorized_client'],
    [422, 'web3_provider_disabled', '', 'unauthorized_client'],
    [404, 'saml_provider_disabled', '', 'unauthorized_client'],
    [400, 'provider_disabled', '', 'unauthorized_client'],
    [422, 'signup_disabled', '', 'unauthorized_client'],
    [429, 'over_request_rate_limit', '', 'slow_down'],
    [503, 'server_busy', '', 'server_error'],
  ])('names the error of OAuth 2.0 for %s %s %s: %s', (status, code, message, expected) => {
    expect(oauthName({ status, code, message })).toBe(expected)
  })
})

describe('errorVocabulary', () => {
  it('503: reports a lock timeout as unavailable', async () => {
    const { user } = await createSignedUp(deps)
    const error = await deps.db.transaction().execute(async (locking) => {
      await lockUserById(locking, user.id)
      return deps.db
        .transaction()
        .execute(async (trx) => {
          await sql`SET LOCAL lock_timeout = '1ms'`.execute(trx)
          await lockUserById(trx, user.id)
        })
        .catch((thrown: unknown) => thrown)
    })
    expect(error).toHaveProperty('code', '55P03')
    expect(errorVocabulary.isUnavailable(error)).toBe(true)
    expect(errorVocabulary.unavailable(error)).toEqual(serviceUnavailable({ cause: error }))
  })
})
