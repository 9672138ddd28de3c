import { bodies, getUser, type RequestStep, type Step, type Subject, sends, signUp } from '../step.ts'

const authorize = (keep: string, query = ''): RequestStep => ({
  name: `authorize${query}`,
  send: `GET /authorize?provider=keycloak${query}`,
  keep,
})

const comeBack = (flow: string, account: string, keep = account): RequestStep => ({
  name: `come back as ${account}`,
  send: `GET /callback?state={${flow}.state}&code=${account}`,
  keep,
})

const signInAs = (account: string, query = ''): readonly Step[] => [authorize('flow', query), comeBack('flow', account)]

const exchange = (keep: string, verifier: string): RequestStep => ({
  name: `exchange with ${verifier}`,
  send: 'POST /token?grant_type=pkce',
  body: { auth_code: `{${keep}.code}`, code_verifier: verifier },
  keep: `${keep}-session`,
})

const VERIFIER = 'a-verifier-of-more-than-forty-three-characters-0123'
const PKCE = `&code_challenge={challenge ${VERIFIER}}&code_challenge_method=s256`

export const providers: Subject = {
  name: 'providers',
  steps: [
    ...sends([
      'GET /authorize',
      'GET /authorize?provider=',
      'GET /authorize?provider=nothing',
      'GET /authorize?provider=github',
      'GET /authorize?provider=KeyCloak',
      'GET /authorize?provider=email',
      'GET /authorize?provider=keycloak',
      'GET /authorize?provider=keycloak&scopes=a+b',
      'GET /authorize?provider=keycloak&skip_http_redirect=true',
      'GET /authorize?provider=keycloak&redirect_to=https%3A%2F%2Fevil.example',
      'GET /authorize?provider=keycloak&login_hint=ada&prompt=consent',
      'GET /authorize?provider=keycloak&code_challenge=x',
      'GET /authorize?provider=keycloak&code_challenge=x&code_challenge_method=s256',
      'GET /authorize?provider=keycloak&code_challenge_method=s256',
      `GET /authorize?provider=keycloak&code_challenge=${'a'.repeat(43)}&code_challenge_method=x`,
      'GET /authorize?provider=keycloak&invite_token=x',
      'POST /authorize?provider=keycloak',
      'GET /callback',
      'GET /callback?state=x',
      'GET /callback?code=x',
      'GET /callback?state=x&code=y',
      'GET /callback?error=access_denied&error_description=no',
      'POST /callback',
      'GET /callback?state=11111111-1111-4111-8111-111111111111&code=carl',
    ]),
    ...signInAs('carl'),
    getUser('carl'),
    comeBack('flow', 'carl', 'again'),
    ...signInAs('carl-renamed'),
    getUser('carl-renamed', 'after another sign-in'),
    ...signInAs('erik', '&redirect_to=https%3A%2F%2Fapp.example.com%2Fin%3Fa%3D1'),
    ...signInAs('fred', '&redirect_to=https%3A%2F%2Fapp.example.com%2Fcb%23frag'),
    ...signInAs('fred', '&redirect_to=myapp%3A%2F%2Fcallback'),
    authorize('refused'),
    {
      name: 'refused by the user',
      send: 'GET /callback?state={refused.state}&error=access_denied&error_description=no+thanks',
    },
    authorize('refused'),
    { name: 'refused without a description', send: 'GET /callback?state={refused.state}&error=access_denied' },
    authorize('refused', '&redirect_to=https%3A%2F%2Fapp.example.com%2Fcb%23frag'),
    {
      name: 'refused, to an address with a fragment',
      send: 'GET /callback?state={refused.state}&error=access_denied&error_description=no',
    },
    authorize('bad'),
    { name: 'a code that is none', send: 'GET /callback?state={bad.state}&code=nothing' },
    authorize('bad'),
    { name: 'no code', send: 'GET /callback?state={bad.state}' },
    ...signInAs('hugo'),
    ...signInAs('no-sub'),
    ...signInAs('gina'),
    ...signInAs('gina-verified'),
    signUp('ada'),
    ...signInAs('like-ada'),
    getUser('like-ada'),
    ...signInAs('like-ada-unverified'),
    ...signInAs('like-Bert'),
    authorize('pkce', PKCE),
    comeBack('pkce', 'jens'),
    exchange('jens', 'a-wrong-verifier-of-more-than-forty-three-characters'),
    exchange('jens', VERIFIER),
    exchange('jens', VERIFIER),
    getUser('jens-session'),
    authorize('pkce', PKCE.replace('s256', 'S256')),
    comeBack('pkce', 'jens'),
    exchange('jens', VERIFIER),
    authorize('pkce', PKCE),
    { name: 'refused with PKCE', send: 'GET /callback?state={pkce.state}&error=access_denied&error_description=no' },
    {
      name: 'an unknown code',
      send: 'POST /token?grant_type=pkce',
      body: { auth_code: '11111111-1111-4111-8111-111111111111', code_verifier: VERIFIER },
    },
    {
      name: 'a code that is none',
      send: 'POST /token?grant_type=pkce',
      body: { auth_code: 'x', code_verifier: VERIFIER },
    },
    { name: 'no verifier', send: 'POST /token?grant_type=pkce', body: { auth_code: 'x' } },
    { name: 'nothing', send: 'POST /token?grant_type=pkce', body: {} },
    { name: 'a ban', send: 'PUT /admin/users/{jens-session.user.id}', as: 'admin', body: { ban_duration: '1h' } },
    ...signInAs('jens'),
  ],
}

const link = (as: string, query = '&skip_http_redirect=true'): RequestStep => ({
  name: `link of ${as}${query}`,
  send: `GET /user/identities/authorize?provider=keycloak${query}`,
  as,
  keep: 'linking',
})

export const linking: Subject = {
  name: 'linking',
  steps: [
    signUp('ada', { data: { full_name: 'Ada herself' } }),
    link('ada', ''),
    comeBack('linking', 'kurt', 'linked'),
    getUser('ada', 'with an identity'),
    { name: 'GET /user of the linked', send: 'GET /user', as: 'linked', keep: 'user' },
    link('ada'),
    ...sends(
      [
        'GET /user/identities/authorize',
        'GET /user/identities/authorize?provider=nothing',
        'GET /user/identities/authorize?provider=github',
      ],
      { as: 'ada' },
    ),
    ...sends(['GET /user/identities/authorize?provider=keycloak']),
    signUp('bert'),
    link('bert', ''),
    comeBack('linking', 'kurt', 'taken'),
    ...sends(
      [
        'DELETE /user/identities/x',
        'DELETE /user/identities/11111111-1111-4111-8111-111111111111',
        'DELETE /user/identities/{bert.user.identities.0.identity_id}',
      ],
      { as: 'bert' },
    ),
    { name: 'unlink', send: 'DELETE /user/identities/{user.identities.1.identity_id}', as: 'linked' },
    getUser('linked', 'without the identity'),
    { name: 'unlink again', send: 'DELETE /user/identities/{user.identities.1.identity_id}', as: 'linked' },
    { name: 'unlink the last', send: 'DELETE /user/identities/{user.identities.0.identity_id}', as: 'linked' },
    link('bert', ''),
    comeBack('linking', 'kurt', 'now'),
    { name: 'GET /user of bert', send: 'GET /user', as: 'bert', keep: 'user' },
    { name: 'unlink the email', send: 'DELETE /user/identities/{user.identities.0.identity_id}', as: 'bert' },
    getUser('bert', 'without email identity'),
    {
      name: 'link by an id_token',
      send: 'POST /token?grant_type=id_token',
      as: 'ada',
      body: { provider: 'keycloak', id_token: '{id_token lena}', link_identity: true },
    },
    {
      name: 'link by an id_token, without a session',
      send: 'POST /token?grant_type=id_token',
      body: { provider: 'keycloak', id_token: '{id_token mona}', link_identity: true },
    },
    getUser('ada', 'with an identity by token'),
    { name: 'anonymous', send: 'POST /signup', body: {}, keep: 'nemo' },
    link('nemo', ''),
    comeBack('linking', 'dora', 'named'),
    getUser('nemo', 'who has a name now'),
  ],
}

const TOKEN = 'POST /token?grant_type=id_token'
const token = (account: string) => ({ provider: 'keycloak', id_token: `{id_token ${account}}` })

export const idTokens: Subject = {
  name: 'id_tokens',
  steps: [
    { name: 'a new account', send: TOKEN, body: token('lena'), keep: 'lena' },
    getUser('lena'),
    { name: 'the same again', send: TOKEN, body: token('lena') },
    ...bodies(TOKEN, {
      'by issuer and client': { issuer: '{realm}', client_id: 'client', id_token: '{id_token lena}' },
      'by issuer alone': { issuer: '{realm}', id_token: '{id_token lena}' },
      'by client alone': { client_id: 'client', id_token: '{id_token lena}' },
      'another client': { issuer: '{realm}', client_id: 'other', id_token: '{id_token lena}' },
      'another issuer': { issuer: 'https://issuer.example', client_id: 'client', id_token: '{id_token lena}' },
      'an unknown provider': { provider: 'nothing', id_token: '{id_token lena}' },
      'a custom provider': { provider: 'custom:nothing', id_token: '{id_token lena}' },
      'a provider that is off': { provider: 'google', id_token: '{id_token lena}' },
      'a provider without id_tokens': { provider: 'github', id_token: '{id_token lena}' },
      'no provider': { id_token: '{id_token lena}' },
      'no token': { provider: 'keycloak' },
      nothing: {},
      'a token that is none': { provider: 'keycloak', id_token: 'nonsense' },
      'three parts': { provider: 'keycloak', id_token: 'a.b.c' },
      'an expired token': token('ida-expired'),
      'another audience': token('ida-other-audience'),
      'the issuer of another': token('ida-other-issuer'),
      'no email': token('ida-no-email'),
      'no sub': token('ida-no-sub'),
      'a nonce in the token alone': token('ida'),
      'the nonce': { ...token('ida'), nonce: 'test' },
      'a wrong nonce': { ...token('ida'), nonce: 'other' },
      'a nonce that the token lacks': { ...token('lena'), nonce: 'test' },
      'an access token': { ...token('lena'), access_token: 'x' },
      'an unverified email': token('gina'),
      capitals: { provider: 'KeyCloak', id_token: '{id_token lena}' },
      'a number': { provider: 'keycloak', id_token: 5 },
    }),
  ],
}
