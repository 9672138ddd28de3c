import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { AuthConfig } from '../../config.ts'
import { errorAnswers } from '../../error-body.ts'
import { customProvidersDisabled } from '../../errors.ts'
import {
  CustomProviderChanges,
  CustomProviderSettings,
  NewCustomProvider,
  redirectUriOf,
} from '../../external-providers/custom-provider.ts'
import {
  type CustomProvider,
  getCustomProvider,
  listCustomProviders,
} from '../../external-providers/custom-provider-repository.ts'
import {
  changeCustomProvider,
  createCustomProvider,
  removeCustomProvider,
} from '../../use-cases/manage-custom-providers.ts'

const ProviderPath = z.object({ identifier: z.string() })

const Timestamp = z.string().meta({ format: 'date-time' })

const stored = {
  id: z.guid(),
  identifier: z.string(),
  redirect_uri: z.string().meta({ description: 'The address to register at the provider' }),
  created_at: Timestamp,
  updated_at: Timestamp,
}
const [OAuth2Settings, OidcSettings] = CustomProviderSettings.options

/** A custom provider in the form for admins, without its secret. */
const CustomProviderView = z.discriminatedUnion('provider_type', [
  OAuth2Settings.extend(stored),
  OidcSettings.extend(stored),
])

type CustomProviderView = z.output<typeof CustomProviderView>

const listSchema = {
  operationId: 'listCustomProviders',
  tags: ['Admin'],
  summary: 'List custom providers',
  querystring: z.object({
    type: z
      .string()
      .optional()
      .meta({ example: 'oidc', description: 'The type of the providers: oauth2 or oidc. No provider has another' }),
  }),
  response: { 200: z.object({ providers: z.array(CustomProviderView) }), ...errorAnswers(401, 403, 404) },
}

const addSchema = {
  operationId: 'createCustomProvider',
  tags: ['Admin'],
  summary: 'Add a custom provider',
  description: 'By its URLs, or by the issuer whose metadata name them.',
  body: NewCustomProvider,
  response: { 201: CustomProviderView, ...errorAnswers(400, 401, 403, 404, 409, 413, 422) },
}

const changeSchema = {
  operationId: 'updateCustomProvider',
  tags: ['Admin'],
  summary: 'Change a custom provider',
  description: 'Members that are not given stay as they are.',
  params: ProviderPath,
  body: CustomProviderChanges,
  response: { 200: CustomProviderView, ...errorAnswers(400, 401, 403, 404, 409, 413) },
}

/** `/admin/custom-providers`: providers that admins add at run time. */
export const customProvidersRoutes: FastifyPluginAsyncZod = async (app) => {
  const { deps } = app
  app.addHook('onRequest', (_request, _reply, done) => {
    done(deps.config.external.custom.enabled ? undefined : customProvidersDisabled())
  })

  const view = (provider: CustomProvider) => viewCustomProvider(provider, deps.config.server)
  app.get('/admin/custom-providers', { schema: listSchema }, async ({ query }) => ({
    providers: (await listCustomProviders(deps.db, query.type)).map(view),
  }))

  app.post('/admin/custom-providers', { schema: addSchema, config: { namesFields: true } }, async (request, reply) => {
    const created = await createCustomProvider(deps, { ...callerOf(request), provider: request.body })
    return reply.code(201).send(view(created))
  })

  app.get(
    '/admin/custom-providers/:identifier',
    {
      schema: {
        operationId: 'getCustomProvider',
        tags: ['Admin'],
        summary: 'Get a custom provider',
        params: ProviderPath,
        response: { 200: CustomProviderView, ...errorAnswers(401, 403, 404) },
      },
    },
    async (request) => view(await getCustomProvider(deps.db, request.params.identifier)),
  )

  app.put(
    '/admin/custom-providers/:identifier',
    {
      schema: changeSchema,
    },
    async (request) =>
      view(await changeCustomProvider(deps, { ...callerOf(request), ...request.params, changes: request.body })),
  )

  app.delete(
    '/admin/custom-providers/:identifier',
    {
      schema: {
        operationId: 'deleteCustomProvider',
        tags: ['Admin'],
        summary: 'Delete a custom provider',
        params: ProviderPath,
        response: { 204: z.undefined(), ...errorAnswers(400, 401, 403, 404, 413) },
      },
    },
    async (request, reply) => {
      await removeCustomProvider(deps, { ...callerOf(request), ...request.params })
      return reply.code(204).send()
    },
  )
}

function callerOf({ admin, clientAddress }: Pick<FastifyRequest, 'admin' | 'clientAddress'>) {
  return { admin, ip: clientAddress.ip }
}

function viewCustomProvider(
  provider: CustomProvider,
  { externalUrl }: Pick<AuthConfig['server'], 'externalUrl'>,
): CustomProviderView {
  const { id, identifier, settings, createdAt, updatedAt } = provider
  const redirectUri = redirectUriOf({ identifier, settings, externalUrl })
  return { id, identifier, ...settings, redirect_uri: redirectUri, created_at: createdAt, updated_at: updatedAt }
}
