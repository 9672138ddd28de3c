import { asPart, type DocumentPart, listOf, listOperations } from '@trestle/common/documents/client-schemas.ts'
import type { Json } from '@trestle/common/documents/complete-document.ts'
import { needs, withTexts } from './requests/documented-fields.ts'

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

const FORMS: Readonly<Record<string, (schema: DocumentPart) => Json>> = {
  createSession: (schema) =>
    textsOf(schema, { captcha_token: { type: 'string', description: 'The token of the captcha' } }),
  finishProviderSignInByForm: (schema) => textsOf(schema),
  finishProviderSignInAtOwnAddressByForm: (schema) => textsOf(schema),
  // The confirmation page posts the members of its link, so the form has no email and no phone.
  verifyCode: ({ properties }) => {
    const { token, token_hash, redirect_to } = asPart(properties)
    // Any type is accepted: the redirect has the error.
    const members = { type: { type: 'string', minLength: 1 }, token, token_hash, redirect_to }
    return {
      type: 'object',
      properties: members,
      ...needs('type'),
      anyOf: [withTexts(['token']), withTexts(['token_hash'])],
    }
  },
}

/**
 * Describes the inputs beside JSON objects: forms, null, and empty parameters of a query (reference: Request bodies).
 * @param document is changed
 * @throws Error when a route takes forms that FORMS does not describe
 */
export function describeRequests(document: object): void {
  for (const { part } of listOperations(document)) {
    for (const parameter of listOf(part.parameters)) describeParameter(asPart(parameter))
    describeForm(part)
    describeNull(part)
  }
}

/** An empty parameter counts as absent. */
function describeParameter(parameter: DocumentPart): void {
  if (parameter.in === 'query' && parameter.required !== true) parameter.allowEmptyValue = true
}

/** A body that is null counts as one without members, which some forms of a body are. */
function describeNull({ requestBody }: DocumentPart): void {
  const schema = asPart(asPart(asPart(asPart(requestBody).content)[JSON_TYPE]).schema)
  const forms = [...listOf(schema.anyOf), ...listOf(schema.oneOf)].map(asPart)
  const mayBeEmpty = forms.length === 0 || forms.some(({ required }) => listOf(required).length === 0)
  if (schema.type === 'object' && listOf(schema.required).length === 0 && mayBeEmpty) schema.type = ['object', 'null']
}

function describeForm({ operationId, requestBody }: DocumentPart): void {
  const content = asPart(asPart(requestBody).content)
  const { [FORM]: form } = content
  if (form === undefined) return
  const formOf = FORMS[String(operationId)]
  if (formOf === undefined) throw new Error(`the form of ${operationId} is not described`)
  content[FORM] = { schema: formOf(asPart(asPart(form).schema)) }
}

/** The texts of a JSON body, which are all that a form can hold. */
function textsOf({ properties, anyOf }: DocumentPart, more: Json = {}): Json {
  const texts = Object.entries(asPart(properties)).filter(([, member]) => asPart(member).type === 'string')
  return {
    type: 'object',
    properties: { ...Object.fromEntries(texts), ...more },
    ...(anyOf !== undefined && { anyOf }),
  }
}

/** Adds the answer to a method that a URL does not have. @param document a complete one, which is changed */
export function addWrongMethod(document: object): void {
  const { headers, responses } = asPart(Reflect.get(document, 'components'))
  const { Error404: missing } = asPart(responses)
  asPart(headers).Allow = { description: 'The methods that the URL has.', schema: { type: 'string' }, required: true }
  const allow = { Allow: { $ref: '#/components/headers/Allow' } }
  asPart(responses).Error405 = {
    ...asPart(missing),
    description: 'The URL does not have the method.',
    headers: { ...asPart(asPart(missing).headers), ...allow },
  }
}
