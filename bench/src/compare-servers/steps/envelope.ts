import { PASSWORD, type RequestStep, type Subject, sends, signUp } from '../step.ts'

const PATHS = [
  ...[
    'GET /',
    'GET /nothing',
    'GET /user/',
    'GET /settings/',
    'GET /settings',
    'GET /health',
    'HEAD /health',
    'GET /health/',
  ],
  ...['DELETE /signup', 'GET /signup', 'PUT /token', 'GET /otp', 'GET /recover', 'GET /magiclink', 'GET /logout'],
  ...[
    'POST /user',
    'DELETE /user',
    'POST /settings',
    'POST /health',
    'PATCH /admin/users',
    'GET /invite',
    'GET /resend',
  ],
  ...['GET /.well-known/jwks.json', 'POST /.well-known/jwks.json', 'GET /admin', 'GET /admin/nothing', 'GET //user'],
  ...['GET /auth/v1/health', 'GET /auth/v1/settings', 'GET /ready', 'GET /metrics', 'GET /docs', 'GET /openapi.json'],
]

const MISSING = [
  ...['POST /sso', 'GET /sso/saml/metadata', 'POST /sso/saml/acs', 'GET /sso'],
  ...['GET /oauth/authorize', 'POST /oauth/token', 'POST /oauth/clients/register', 'GET /oauth/userinfo'],
  ...['GET /user/oauth/grants', 'DELETE /user/oauth/grants', 'GET /oauth/authorizations/x'],
  ...['GET /.well-known/oauth-authorization-server', 'GET /.well-known/openid-configuration'],
  ...['GET /scim/v2/Users', 'GET /scim/v2/ServiceProviderConfig'],
  ...['GET /passkeys', 'POST /passkeys/registration/options', 'POST /passkeys/authentication/options'],
  ...['POST /passkeys/authentication/verify', 'POST /passkeys/registration/verify'],
]

const MISSING_FOR_ADMINS = [
  ...['GET /admin/sso/providers', 'POST /admin/sso/providers', 'GET /admin/sso/providers/x'],
  ...['GET /admin/sso/providers/11111111-1111-4111-8111-111111111111'],
  ...['GET /admin/oauth/clients', 'POST /admin/oauth/clients', 'GET /admin/oauth/clients/x'],
  ...['GET /admin/custom-providers', 'POST /admin/custom-providers', 'GET /admin/custom-providers/custom:x'],
]

/** Paths, methods and edge cases of the API. */
export const paths: Subject = {
  name: 'paths',
  steps: [
    ...sends(PATHS),
    ...sends(MISSING),
    ...sends(MISSING_FOR_ADMINS, { as: 'admin' }),
    ...sends(['GET /admin/sso/providers', 'GET /admin/custom-providers', 'GET /admin/oauth/clients']),
    signUp('ada'),
    ...sends(
      ['GET /user/oauth/grants', 'GET /passkeys', 'POST /passkeys/registration/options', 'GET /oauth/userinfo'],
      { as: 'ada' },
    ),
  ],
}

const preflight = (name: string, path: string, headers: Readonly<Record<string, string>>): RequestStep => ({
  name,
  send: `OPTIONS ${path}`,
  headers,
})

const asking = (method: string, headers?: string) => ({
  origin: 'http://localhost:3000',
  'access-control-request-method': method,
  ...(headers !== undefined && { 'access-control-request-headers': headers }),
})

export const cors: Subject = {
  name: 'CORS',
  steps: [
    preflight('the client of a browser', '/token', asking('POST', 'authorization,content-type,x-client-info')),
    preflight('with an apikey', '/token', asking('POST', 'apikey,authorization,content-type,x-client-info')),
    preflight('an API version', '/user', asking('PUT', 'authorization,x-supabase-api-version')),
    preflight('an unknown header', '/user', asking('PUT', 'x-nothing')),
    preflight('an unknown method', '/user', asking('TRACE')),
    preflight('DELETE', '/factors/x', asking('DELETE', 'authorization')),
    preflight('PATCH', '/passkeys/x', asking('PATCH', 'authorization')),
    preflight('an unknown path', '/nothing', asking('GET')),
    preflight('no headers of a preflight', '/user', {}),
    preflight('an origin alone', '/user', { origin: 'http://localhost:3000' }),
    { name: 'GET with an origin', send: 'GET /settings', headers: { origin: 'http://localhost:3000' } },
  ],
}

const FAILING: readonly RequestStep[] = [
  { name: 'a weak password', send: 'POST /signup', body: { email: 'weak@example.com', password: 'abc' } },
  {
    name: 'a wrong password',
    send: 'POST /token?grant_type=password',
    body: { email: 'x@example.com', password: 'wrong' },
  },
  { name: 'no bearer', send: 'GET /user' },
  { name: 'a bad bearer', send: 'GET /user', headers: { authorization: 'Bearer x' } },
  { name: 'an unknown provider', send: 'GET /authorize?provider=nothing' },
  { name: 'bad JSON', send: 'POST /signup', body: '{' },
  { name: 'an unknown path', send: 'GET /nothing' },
  { name: 'no id_token', send: 'POST /token?grant_type=id_token', body: {} },
  { name: 'a success', send: 'GET /settings' },
  { name: 'a sign-up', send: 'POST /signup', body: { email: 'known@example.com', password: PASSWORD } },
]

export const apiVersions: Subject = {
  name: 'API versions',
  steps: ['2024-01-01', '2023-01-01', '2099-12-31', 'nonsense', ''].flatMap((version) =>
    FAILING.map((step) => ({
      ...step,
      name: `${step.name} in ${version || 'an empty version'}`,
      headers: { ...step.headers, 'x-supabase-api-version': version },
    })),
  ),
}

/** Requests with a body and without credentials. */
const OPEN = [
  ...['POST /signup', 'POST /otp', 'POST /magiclink', 'POST /recover', 'POST /resend', 'POST /verify'],
  ...['POST /token?grant_type=password', 'POST /token?grant_type=refresh_token', 'POST /token?grant_type=pkce'],
  ...['POST /token?grant_type=id_token'],
]
const OF_USERS = ['PUT /user', 'POST /factors']
const OF_ADMINS = ['POST /invite', 'POST /admin/users', 'POST /admin/generate_link', 'PUT /admin/users/{ada.user.id}']

const FORMS: Readonly<Record<string, RequestStep['body']>> = {
  'no body': undefined,
  'an empty text': '',
  'bad JSON': '{"email":',
  'a comma too many': '{"email":"a@example.com",}',
  'two objects': '{}{}',
  'a text': '"text"',
  'a number': '5',
  'a list': '[]',
  true: 'true',
  'wrong types': '{"email":{},"phone":[],"password":5,"type":7,"token":false,"data":3}',
  'a member twice': '{"email":"first","email":"second"}',
}

const send = (request: string, as?: string): readonly RequestStep[] =>
  Object.entries(FORMS).map(([name, body]) => ({
    name: `${request}: ${name}`,
    send: request,
    ...(body !== undefined && { body }),
    ...(as !== undefined && { as }),
  }))

const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/json; charset=utf-8',
  'nonsense',
]

/** Bodies that are not objects, and other content types. */
export const bodyForms: Subject = {
  name: 'forms of bodies',
  steps: [
    signUp('ada'),
    ...OPEN.flatMap((request) => send(request)),
    ...OF_USERS.flatMap((request) => send(request, 'ada')),
    ...OF_ADMINS.flatMap((request) => send(request, 'admin')),
    ...TYPES.map((type) => ({
      name: `JSON as ${type}`,
      send: 'POST /token?grant_type=password',
      headers: { 'content-type': type },
      body: { email: 'ada@example.com', password: PASSWORD },
    })),
  ],
}
