import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { OwnAddresses } from '../address-changes/request-address-change.ts'
import type { AuthConfig } from '../config.ts'
import { errorAnswers } from '../error-body.ts'
import { PKCE_TOGETHER, parsePkce, pkceFields } from '../flows/pkce.ts'
import { RedirectQuery } from '../flows/redirect-allow-list.ts'
import { requireChannel } from '../messages/message-request.ts'
import { noStore, plainJson } from '../plugins/answers.ts'
import { authenticate } from '../plugins/authenticate.ts'
import { metadataBodyBytesMax } from '../plugins/json-body.ts'
import { readContext, readWantedAudience } from '../plugins/read-context.ts'
import {
  emailField,
  freeChannelField,
  passwordField,
  phoneField,
  requireEmail,
  withChannel,
  withTexts,
} from '../requests/fields.ts'
import { changeOwnUser, getOwnUser, type OwnChanges } from '../use-cases/own-user.ts'
import { Metadata, requireMetadata } from '../users/metadata.ts'
import { UserView, viewUser } from '../users/user-view.ts'

const UserBody = z
  .object({
    email: emailField,
    phone: phoneField,
    password: passwordField,
    current_password: z
      .string()
      .optional()
      .meta({ description: 'The password so far, where the service asks for it with a new one' }),
    nonce: z
      .string()
      .optional()
      .meta({ description: 'The code that GET /reauthenticate has sent, where a new password needs one' }),
    data: Metadata.optional().meta({ description: 'Merged into user_metadata. A member that is null deletes its key' }),
    app_metadata: Metadata.optional().meta({ description: 'Merged into app_metadata. Only admins may change it' }),
    channel: freeChannelField,
    ...pkceFields,
  })
  .meta({
    ...PKCE_TOGETHER,
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    allOf: [{ if: withTexts(['phone']), then: withChannel(withTexts([])) }],
  })

/** `GET /user`, `PUT /user`: the caller's own record. New addresses must be confirmed. */
export const userRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  await app.register(noStore)
  await app.register(authenticate)

  app.get(
    '/user',
    {
      schema: {
        operationId: 'getUser',
        tags: ['Account'],
        summary: 'Get the own account',
        response: { 200: UserView, ...errorAnswers(400, 401, 403) },
      },
      serializerCompiler: plainJson,
    },
    (request) => getOwnUser(deps, { caller: request.caller, audience: readWantedAudience(request) }),
  )

  app.put(
    '/user',
    {
      bodyLimit: metadataBodyBytesMax(deps.config),
      config: { rateBucket: 'user' },
      schema: {
        operationId: 'updateUser',
        tags: ['Account'],
        summary: 'Change the own account',
        description: 'New addresses have to be confirmed.',
        querystring: RedirectQuery,
        body: UserBody,
        response: { 200: UserView, ...errorAnswers(400, 401, 403, 413, 422, 429) },
      },
      serializerCompiler: plainJson,
    },
    async (request, reply) => {
      const changes = parseChanges(deps, request.body)
      const context = await readContext(deps, request, reply)
      const user = await changeOwnUser(deps, { caller: request.caller, changes, context })
      return viewUser(user, deps.config.compatibility)
    },
  )
}

/** Checks each field separately. Empty strings count as absent. */
function parseChanges({ config }: { readonly config: AuthConfig }, body: z.output<typeof UserBody>): OwnChanges {
  return {
    ...parseAddresses(config, body),
    password: config.compatibility.treatEmptyPasswordAsWeak ? (body.password ?? undefined) : body.password || undefined,
    currentPassword: body.current_password || undefined,
    nonce: body.nonce || undefined,
    userMetadata: body.data && requireMetadata(config, body.data),
    appMetadata: body.app_metadata && requireMetadata(config, body.app_metadata),
  }
}

function parseAddresses({ sms, signup }: AuthConfig, body: z.output<typeof UserBody>): OwnAddresses {
  const { email, phone, channel } = body
  return {
    email: email ? requireEmail(email) : undefined,
    phone: phone || undefined,
    channel: requireChannel(sms.provider, phone ? channel : undefined),
    pkce: parsePkce(body, signup.pkce),
  }
}
