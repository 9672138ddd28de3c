import { CODE, type ProviderStub, REFRESH_TOKEN } from './provider-stub.ts'

const bearer = { token_type: 'bearer', expires_in: 3_600, refresh_token: REFRESH_TOKEN }
const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const KEYCLOAK = 'https://keycloak.example.com/realms/test/protocol/openid-connect'

/** The documented answers of the OpenID Connect providers, with the quirks of each. */
export const OPENID_STUBS: readonly ProviderStub[] = [
  {
    name: 'apple',
    authorize: {
      url: 'https://appleid.apple.com/auth/authorize',
      parameters: { scope: 'email name', response_mode: 'form_post' },
    },
    token: { url: 'https://appleid.apple.com/auth/token', auth: 'post', answer: { ...bearer, token_type: 'Bearer' } },
    idToken: {
      claims: {
        iss: 'https://account.apple.com',
        aud: 'apple-client',
        sub: '001234.abcdef.1234',
        email: 'ada@privaterelay.appleid.com',
        email_verified: 'true',
        is_private_email: 'true',
        auth_time: 1_767_323_000,
      },
      jwksUrl: 'https://appleid.apple.com/auth/keys',
    },
    resources: {},
    form: {
      code: CODE,
      user: '{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"somebody.else@example.com"}',
    },
    data: {
      iss: 'https://account.apple.com',
      sub: '001234.abcdef.1234',
      name: 'Ada Lovelace',
      full_name: 'Ada Lovelace',
      email: 'ada@privaterelay.appleid.com',
      email_verified: true,
      custom_claims: { is_private_email: true, auth_time: 1_767_323_000 },
    },
    email: 'ada@privaterelay.appleid.com',
  },
  {
    name: 'azure',
    authorize: {
      url: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
      parameters: { scope: 'openid' },
    },
    token: { url: 'https://login.microsoftonline.com/common/oauth2/v2.0/token', auth: 'post', answer: bearer },
    idToken: {
      claims: {
        iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
        aud: 'azure-client',
        sub: 'AAAAAAAA',
        oid: '11111111-0000-0000-0000-000000000000',
        tid: TENANT,
        ver: '2.0',
        rh: '0.AXo',
        email: 'Ada@Contoso.com',
        name: 'Ada Lovelace',
        preferred_username: 'ada@contoso.com',
        xms_edov: '1',
      },
      jwksUrl: `https://login.microsoftonline.com/${TENANT}/discovery/v2.0/keys`,
    },
    resources: {},
    pkce: true,
    data: {
      iss: `https://login.microsoftonline.com/${TENANT}/v2.0`,
      sub: 'AAAAAAAA',
      full_name: 'Ada Lovelace',
      email: 'ada@contoso.com',
      email_verified: true,
      preferred_username: 'ada@contoso.com',
      custom_claims: {
        oid: '11111111-0000-0000-0000-000000000000',
        tid: TENANT,
        email: 'Ada@Contoso.com',
        xms_edov: '1',
      },
    },
    email: 'ada@contoso.com',
  },
  {
    name: 'google',
    authorize: { url: 'https://accounts.google.com/o/oauth2/v2/auth', parameters: { scope: 'email profile' } },
    token: { url: 'https://oauth2.googleapis.com/token', auth: 'post', answer: { ...bearer, scope: 'openid email' } },
    idToken: {
      claims: {
        // In old Google tokens, the issuer has no scheme.
        iss: 'accounts.google.com',
        aud: 'google-client',
        azp: 'google-client',
        sub: '110169484474386276334',
        email: 'ada@example.com',
        email_verified: true,
        name: 'Ada Lovelace',
        picture: 'https://lh3.example/ada',
        hd: 'example.com',
      },
      jwksUrl: 'https://www.googleapis.com/oauth2/v3/certs',
    },
    resources: {},
    pkce: true,
    data: {
      iss: 'https://accounts.google.com',
      sub: '110169484474386276334',
      name: 'Ada Lovelace',
      full_name: 'Ada Lovelace',
      email: 'ada@example.com',
      email_verified: true,
      picture: 'https://lh3.example/ada',
      avatar_url: 'https://lh3.example/ada',
      custom_claims: { hd: 'example.com' },
    },
    email: 'ada@example.com',
  },
  {
    name: 'keycloak',
    authorize: { url: `${KEYCLOAK}/auth`, parameters: { scope: 'profile email' } },
    token: { url: `${KEYCLOAK}/token`, auth: 'basic', answer: { ...bearer, token_type: 'Bearer' } },
    resources: {
      [`${KEYCLOAK}/userinfo`]: {
        body: {
          sub: '248289761001',
          email: 'ada@keycloak.example',
          email_verified: true,
          name: 'Ada',
          preferred_username: 'ada',
          groups: ['/staff'],
        },
      },
    },
    pkce: true,
    data: {
      iss: 'https://keycloak.example.com/realms/test',
      sub: '248289761001',
      name: 'Ada',
      full_name: 'Ada',
      email: 'ada@keycloak.example',
      email_verified: true,
      custom_claims: { preferred_username: 'ada', groups: ['/staff'] },
    },
    email: 'ada@keycloak.example',
  },
]
