import { concurrencyLimit } from '@trestle/common/capacity/concurrency-limit.ts'
import { apiDocuments } from '@trestle/common/documents/api-documents.ts'
import { createServer, type Server } from '@trestle/common/server/create-server.ts'
import { httpTelemetry } from '@trestle/common/telemetry/http-telemetry.ts'
import { OPERATOR_SCHEMES } from '@trestle/operators/operator-routes.ts'
import type { FastifyInstance } from 'fastify'
import type { AuthDeps } from './deps.ts'
import { errorVocabulary } from './error-body.ts'
import { commonHeaders, headers, noStore, upstreamAnswers } from './plugins/answers.ts'
import { requireAdmin } from './plugins/authenticate.ts'
import { authenticateOperator } from './plugins/authenticate-operator.ts'
import { captcha } from './plugins/captcha.ts'
import { clientAddress, rateLimit } from './plugins/client-address.ts'
import { BODY_BYTES_MAX, jsonBody, SMALL_BODY_BYTES_MAX } from './plugins/json-body.ts'
import { OPERATOR_LIMIT } from './plugins/operator-list.ts'
import { adminAuditRoutes } from './routes/admin/audit.ts'
import { customProvidersRoutes } from './routes/admin/custom-providers.ts'
import { generateLinkRoutes } from './routes/admin/generate-link.ts'
import { adminOauthRoutes } from './routes/admin/oauth.ts'
import { adminSsoRoutes } from './routes/admin/sso.ts'
import { adminFactorsRoutes } from './routes/admin/users/factors.ts'
import { adminPasskeysRoutes } from './routes/admin/users/passkeys.ts'
import { adminUsersRoutes } from './routes/admin/users.ts'
import { authorizeRoutes } from './routes/authorize.ts'
import { callbackRoutes } from './routes/callback.ts'
import { docsScriptRoutes } from './routes/docs/js/scalar.js.ts'
import { docsRoutes } from './routes/docs.ts'
import { challengeRoutes } from './routes/factors/challenge.ts'
import { regenerateRecoveryCodesRoutes } from './routes/factors/recovery-codes/regenerate.ts'
import { verifyRecoveryCodeRoutes } from './routes/factors/recovery-codes/verify.ts'
import { recoveryCodesRoutes } from './routes/factors/recovery-codes.ts'
import { verifyFactorRoutes } from './routes/factors/verify.ts'
import { factorsRoutes } from './routes/factors.ts'
import { healthRoutes } from './routes/health.ts'
import { homeRoutes } from './routes/home.ts'
import { inviteRoutes } from './routes/invite.ts'
import { logoutRoutes } from './routes/logout.ts'
import { magiclinkRoutes } from './routes/magiclink.ts'
import { oauthRoutes } from './routes/oauth.ts'
import { openapiRoutes } from './routes/openapi.json.ts'
import { operatorAuditRoutes } from './routes/operator/audit.ts'
import { operatorKeyPromotionRoutes } from './routes/operator/keys/promotion.ts'
import { operatorKeysRoutes } from './routes/operator/keys.ts'
import { operatorMeRoutes } from './routes/operator/me.ts'
import { operatorResendRoutes } from './routes/operator/messages/resend.ts'
import { operatorMessagesRoutes } from './routes/operator/messages.ts'
import { operatorOverviewRoutes } from './routes/operator/overview.ts'
import { operatorSettingsRoutes } from './routes/operator/settings.ts'
import { operatorBanRoutes } from './routes/operator/users/ban.ts'
import { operatorConfirmationRoutes } from './routes/operator/users/confirmation.ts'
import { operatorConsoleRoleRoutes } from './routes/operator/users/console-role.ts'
import { operatorFactorsRoutes } from './routes/operator/users/factors.ts'
import { operatorInvitationsRoutes } from './routes/operator/users/invitations.ts'
import { operatorSecureRoutes } from './routes/operator/users/secure.ts'
import { operatorSessionsRoutes } from './routes/operator/users/sessions.ts'
import { operatorSignInLinkRoutes } from './routes/operator/users/sign-in-link.ts'
import { operatorUsersRoutes } from './routes/operator/users.ts'
import { otpRoutes } from './routes/otp.ts'
import { passkeyAuthenticationOptionsRoutes } from './routes/passkeys/authentication/options.ts'
import { passkeyAuthenticationVerifyRoutes } from './routes/passkeys/authentication/verify.ts'
import { passkeyRegistrationOptionsRoutes } from './routes/passkeys/registration/options.ts'
import { passkeyRegistrationVerifyRoutes } from './routes/passkeys/registration/verify.ts'
import { passkeysRoutes } from './routes/passkeys.ts'
import { readyRoutes } from './routes/ready.ts'
import { reauthenticateRoutes } from './routes/reauthenticate.ts'
import { recoverRoutes } from './routes/recover.ts'
import { resendRoutes } from './routes/resend.ts'
import { settingsRoutes } from './routes/settings.ts'
import { signupRoutes } from './routes/signup.ts'
import { ssoRoutes } from './routes/sso.ts'
import { tokenRoutes } from './routes/token.ts'
import { linkingRoutes } from './routes/user/identities/authorize.ts'
import { identitiesRoutes } from './routes/user/identities.ts'
import { userOauthRoutes } from './routes/user/oauth.ts'
import { userRoutes } from './routes/user.ts'
import { verifyRoutes } from './routes/verify.ts'
import { jwksRoutes } from './routes/well-known/jwks.json.ts'
import { VERSION } from './version.ts'

/** The OpenAPI document of the routes below, written by `pnpm openapi`. */
const API_DOCUMENT = new URL('../../../docs/openapi/auth.json', import.meta.url)
/** The path at which clients of Supabase call the service. A gateway in front of supabase/auth removes this path. */
const GATEWAY_PATH = '/auth/v1'

const factorAndPasskeyRoutes = [
  factorsRoutes,
  challengeRoutes,
  verifyFactorRoutes,
  recoveryCodesRoutes,
  regenerateRecoveryCodesRoutes,
  verifyRecoveryCodeRoutes,
  passkeysRoutes,
  passkeyAuthenticationOptionsRoutes,
  passkeyAuthenticationVerifyRoutes,
  passkeyRegistrationOptionsRoutes,
  passkeyRegistrationVerifyRoutes,
] as const

/** The access tokens of auth are JWTs. For other services the format is not stated. */
const operatorSchemes = {
  operatorKey: OPERATOR_SCHEMES.operatorKey,
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: OPERATOR_SCHEMES.operatorToken.description,
  },
} as const

/** Builds the HTTP server of auth with every plugin and route. It does not listen yet. */
export async function buildApp(deps: AuthDeps): Promise<Server> {
  const { config } = deps
  const app = createServer({
    logger: deps.logger,
    vocabulary: errorVocabulary,
    now: deps.now,
    meter: deps.meter,
    requestIdHeader: config.server.requestIdHeader,
    bodyLimit: BODY_BYTES_MAX,
    headBytesMax: config.compatibility.headBytesMax,
    handlerTimeoutMs: config.server.handlerTimeoutMs,
    trustedProxies: config.server.trustedProxies,
    ignoreTrailingSlash: true,
    secondBase: GATEWAY_PATH,
    brokenRequestHeaders: commonHeaders,
  })
  app.decorate('deps', deps)
  await deps.tracing.instrument(app)
  await app.register(httpTelemetry, { meter: deps.meter })
  await app.register(headers, {
    corsAllowedHeaders: config.server.corsAllowedHeaders,
    errorCode: config.compatibility.sendErrorCodeHeader,
  })
  await app.register(upstreamAnswers, { compatibility: config.compatibility })
  await app.register(clientAddress, { config })
  await app.register(rateLimit, { rateLimits: deps.rateLimits, meter: deps.meter })
  await app.register(jsonBody)
  await app.register(captcha, { deps })
  // Reading a body ends the async context of a request, so begin the context of hooks after it.
  app.addHook('preHandler', (request, _reply, done) => deps.hooks.during(request.clientAddress.ip, done))
  await app.register(apiDocuments, {
    title: 'Trestle auth',
    version: VERSION,
    description:
      'Users, sessions and tokens. A drop-in server for clients of the GoTrue API.\n\nSign-up and sign-in need no credentials. ' +
      'Other operations take the access token that a sign-in answers.\n\nA method that a URL does not have is answered ' +
      '405, with the methods that it has in the header Allow. HEAD works wherever GET changes nothing.',
    file: config.server.docsEnabled ? API_DOCUMENT : undefined,
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    otherSchemes: operatorSchemes,
  })
  await app.register(docsRoutes)
  await app.register(docsScriptRoutes)
  await app.register(healthRoutes)
  await app.register(openapiRoutes)
  await app.register(readyRoutes)
  await app.register(settingsRoutes)
  await app.register(jwksRoutes)
  await app.register(adminRoutes)
  await app.register(operatorRoutes)
  await app.register(publicRoutes)
  await app.register(ownRoutes)
  await app.register(homeRoutes)
  await app.register(oauthRoutes)
  await app.register(ssoRoutes)
  await app.register(userOauthRoutes)
  return app
}

/** The endpoints of admins. All of them require the access token of an admin. */
async function adminRoutes(admin: FastifyInstance): Promise<void> {
  await admin.register(noStore)
  await admin.register(requireAdmin)
  await admin.register(adminAuditRoutes)
  await admin.register(customProvidersRoutes)
  await admin.register(generateLinkRoutes)
  await admin.register(adminOauthRoutes)
  await admin.register(adminSsoRoutes)
  await admin.register(adminUsersRoutes)
  await admin.register(adminFactorsRoutes)
  await admin.register(adminPasskeysRoutes)
  await admin.register(inviteRoutes)
}

/** The endpoints of operators. They require an operator key and the operator's access token. */
async function operatorRoutes(operators: FastifyInstance): Promise<void> {
  await operators.register(noStore)
  await operators.register(authenticateOperator)
  await operators.register(concurrencyLimit, OPERATOR_LIMIT)
  await operators.register(operatorAuditRoutes)
  await operators.register(operatorKeysRoutes)
  await operators.register(operatorKeyPromotionRoutes)
  await operators.register(operatorMeRoutes)
  await operators.register(operatorMessagesRoutes)
  await operators.register(operatorResendRoutes)
  await operators.register(operatorOverviewRoutes)
  await operators.register(operatorSettingsRoutes)
  await operators.register(operatorUsersRoutes)
  await operators.register(operatorBanRoutes)
  await operators.register(operatorConfirmationRoutes)
  await operators.register(operatorConsoleRoleRoutes)
  await operators.register(operatorFactorsRoutes)
  await operators.register(operatorSecureRoutes)
  await operators.register(operatorInvitationsRoutes)
  await operators.register(operatorSessionsRoutes)
  await operators.register(operatorSignInLinkRoutes)
}

/** The endpoints for signing up and signing in. They need no access token. */
async function publicRoutes(answers: FastifyInstance): Promise<void> {
  limitBodies(answers)
  await answers.register(noStore)
  await answers.register(authorizeRoutes)
  await answers.register(callbackRoutes)
  await answers.register(magiclinkRoutes)
  await answers.register(otpRoutes)
  await answers.register(recoverRoutes)
  await answers.register(resendRoutes)
  await answers.register(signupRoutes)
  await answers.register(tokenRoutes)
  await answers.register(verifyRoutes)
}

/** The endpoints for a user's own account. Each requires an access token, except for the sign-in by passkey. */
async function ownRoutes(app: FastifyInstance): Promise<void> {
  limitBodies(app)
  for (const routes of factorAndPasskeyRoutes) await app.register(routes)
  await app.register(logoutRoutes)
  await app.register(reauthenticateRoutes)
  await app.register(userRoutes)
  await app.register(identitiesRoutes)
  await app.register(linkingRoutes)
}

/** Limits the body size for clients other than admins, because parsing a mebibyte of JSON takes as long as a hundred sign-ins. */
function limitBodies(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= SMALL_BODY_BYTES_MAX
  })
}

declare module 'fastify' {
  interface FastifyInstance {
    readonly deps: AuthDeps
  }
}
