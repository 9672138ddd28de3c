import { inlineSchemas } from '@trestle/testing/inline-schemas.ts'
import { describe, expect, it } from 'vitest'
import { buildOpenApi } from './openapi.ts'

/** The document as clients read it. Built once, because building is slower than each test. */
const document = JSON.parse(JSON.stringify(await buildOpenApi()))
/** The same document with references replaced by their schemas. */
const inlined = JSON.parse(inlineSchemas(document))

describe('buildOpenApi', () => {
  it('describes every route from its schemas', () => {
    expect([document.openapi, document.info.title]).toEqual(['3.1.0', 'Trestle auth'])
    expect(Object.keys(document.paths['/verify'])).toEqual(['get', 'post'])
    expect(document.paths['/signup'].post.security).toEqual([])
    expect(document.paths['/user'].get.security).toBeUndefined()
    expect(document.security).toEqual([{ bearer: [] }])
  })

  it('documents each status of an error for every operation and no range of statuses', () => {
    const { paths } = document
    const operations = Object.entries<Record<string, { responses: object }>>(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => [`${method} ${path}`, Object.keys(responses)] as const),
    )
    const isPrecise = (statuses: readonly string[]) => statuses.includes('500') && !statuses.join().includes('X')
    expect(operations.filter(([, statuses]) => !isPrecise(statuses))).toEqual([])
  })

  it('describes the call of each hook, with parts of the document', () => {
    const { webhooks, components } = document
    expect(Object.keys(webhooks)).toEqual([
      'custom-access-token',
      'send-email',
      'send-sms',
      'mfa-verification-attempt',
      'password-verification-attempt',
      'before-user-created',
      'after-user-created',
    ])
    const { schema } = webhooks['send-sms'].post.requestBody.content['application/json']
    expect([schema.required, schema.properties.user]).toEqual([['user', 'sms'], { $ref: '#/components/schemas/User' }])
    for (const [, name = ''] of JSON.stringify(webhooks).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(Object.keys(components.schemas)).toContain(name)
    }
  })

  it('describes the texts of each form', () => {
    const { paths } = inlined
    const membersOf = (path: string) => {
      const { schema } = paths[path].post.requestBody.content['application/x-www-form-urlencoded']
      return Object.keys(schema.properties)
    }
    expect(membersOf('/verify')).toEqual(['type', 'token', 'token_hash', 'redirect_to'])
    expect(membersOf('/token')).toEqual([
      ...['grant_type', 'email', 'phone', 'password', 'refresh_token', 'auth_code', 'code_verifier', 'id_token'],
      ...['provider', 'issuer', 'client_id', 'access_token', 'nonce', 'captcha_token'],
    ])
    const callback = paths['/callback'].post.requestBody.content
    expect(membersOf('/callback')).toEqual(Object.keys(callback['application/json'].schema.properties))
  })

  it('describes the answer to a wrong method, and the page at /', () => {
    const { components, paths } = document
    expect(components.responses.Error405.headers.Allow).toEqual({ $ref: '#/components/headers/Allow' })
    expect(components.headers.Allow.schema).toEqual({ type: 'string' })
    expect(Object.keys(paths['/'].get.responses)).toEqual(['200', '400', '404', '431', '500', '503', '504'])
  })

  it('describes both forms of an error, and the redirect of a link', () => {
    const { components, paths } = document
    const forms: readonly { required: readonly string[] }[] = inlined.components.schemas.AuthError.anyOf
    expect(forms.map(({ required }) => required)).toEqual([
      ['code', 'error_code', 'msg'],
      ['code', 'message'],
    ])
    const { 200: page, 303: redirect, 400: damage, 429: refusal } = paths['/verify'].get.responses
    expect(refusal).toEqual({ $ref: '#/components/responses/Error429' })
    expect([Object.keys(page.content), redirect.content]).toEqual([['text/html'], undefined])
    const errorBody = { 'application/json': { schema: { $ref: '#/components/schemas/AuthError' } } }
    expect(components.responses.Error429.content).toEqual(errorBody)
    expect(damage.content).toEqual({ ...errorBody, 'text/html': { schema: { type: 'string' } } })
  })
})
