import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { outboundFetch } from '@trestle/common/outbound/outbound-fetch.ts'
import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  nopkce,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { z } from 'zod'
import type { ConfiguredProvider } from './configured-provider.ts'
import { parseForeignJson } from './foreign-json.ts'
import type { Grant, OAuth2Provider } from './provider.ts'

/** The parameters with which the browser returns from the provider, and the verifier that the flow has kept. */
export interface CodeAnswer {
  readonly code: string
  /** Undefined for a provider that does not bind its code to a verifier. */
  readonly codeVerifier: string | undefined
  readonly userField: string | undefined
}

/**
 * Exchanges the code of a provider's answer (RFC 6749, section 4.1.3). The caller has checked the state.
 * @throws Error when the provider refuses, or when its answer is not the answer of a token endpoint
 */
export async function exchangeCode(
  outbound: Outbound,
  { provider, account, origin }: ConfiguredProvider<OAuth2Provider>,
  { code, codeVerifier, userField }: CodeAnswer,
): Promise<Grant> {
  const server = { issuer: provider.issuer, token_endpoint: provider.tokenUrl }
  const client = { client_id: account.clientId }
  const parameters = validateAuthResponse(server, client, new URLSearchParams({ code }))
  const requestTokens = (auth: ClientAuth): Promise<Response> =>
    authorizationCodeGrantRequest(server, client, auth, parameters, account.redirectUri, codeVerifier ?? nopkce, {
      [customFetch]: outboundFetch(outbound, origin),
      // A setting of the operator may use http. URLs from the database must be https (reference: Outbound calls).
      [allowInsecureRequests]: origin === 'operator',
    })
  const response = await authenticate(provider.clientAuth, account.secret, requestTokens)
  const answer = response.ok ? Members.parse(parseForeignJson(await response.clone().text())) : {}
  const conform = response.ok ? Response.json(toConform(answer)) : response
  const granted = await processAuthorizationCodeResponse(server, client, conform)
  const { data: idToken } = Token.safeParse(answer.id_token)
  return { accessToken: granted.access_token, refreshToken: granted.refresh_token, idToken, answer, userField }
}

const Members = z.record(z.string(), z.unknown())
/** An optional text. Null, an empty text and another type count as missing. */
const Token = z.string().min(1)

/**
 * The members of an answer that count here, as RFC 6749 writes them (reference: Answers of providers). The id_token is verified
 * later, by its signature.
 */
function toConform({ access_token, token_type, refresh_token }: z.output<typeof Members>): object {
  return {
    access_token,
    token_type: Token.safeParse(token_type).data ?? 'bearer',
    refresh_token: Token.safeParse(refresh_token).data,
  }
}

/** Tries HTTP Basic first where both ways are allowed, to keep the secret out of the body. */
async function authenticate(
  clientAuth: OAuth2Provider['clientAuth'],
  secret: string,
  requestTokens: (auth: ClientAuth) => Promise<Response>,
): Promise<Response> {
  if (clientAuth === 'post') return requestTokens(ClientSecretPost(secret))
  const response = await requestTokens(basicAuth(secret))
  return response.status === 401 && clientAuth === 'basic-or-post' ? requestTokens(ClientSecretPost(secret)) : response
}

/**
 * HTTP Basic (RFC 6749, section 2.3.1), escaped as forms are. The library escapes `-` as `%2D` too, and servers that do not undo
 * that do not recognise the client.
 */
function basicAuth(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const credentials = `${formEscape(client.client_id)}:${formEscape(secret)}`
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}

function formEscape(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
