import type { AuthConfig } from '../config.ts'
import type { AuthDeps } from '../deps.ts'
import type { Outbound } from '../outbound/outbound.ts'
import { DEFAULT_TEXTS, type MailKind } from './default-templates.ts'
import { parseTemplate, type Template } from './mail-template.ts'

/** Finds the body of a kind of mail. */
export interface TemplateLoader {
  /** The operator's template, else the last copy of it, else the built-in one. Never fails. */
  body(kind: MailKind, now: Date): Promise<Template>
}

interface Copy {
  readonly template: Template | undefined
  /** When to ask again. */
  readonly dueAt: number
}

const TIMEOUT_MS = 10_000

/** Keeps fetched templates in memory (contract 7.10). A template that cannot be parsed counts as one not fetched. */
export function createTemplateLoader(
  { mail, signup }: Pick<AuthConfig, 'mail' | 'signup'>,
  outbound: Outbound,
  logger: AuthDeps['logger'],
): TemplateLoader {
  const copies = new Map<MailKind, Copy>()
  const fetches = new Map<MailKind, Promise<Template | undefined>>()
  const builtIn = new Map<MailKind, Template>()
  const getBuiltIn = (kind: MailKind): Template => {
    const template = builtIn.get(kind) ?? parseTemplate(DEFAULT_TEXTS[kind].body)
    builtIn.set(kind, template)
    return template
  }
  const refresh = async (kind: MailKind, address: string, now: Date): Promise<Template | undefined> => {
    const known = copies.get(kind)?.template
    try {
      const template = await fetchTemplate(outbound, new URL(address, signup.redirects.siteUrl), mail.templates.sizeMax)
      copies.set(kind, { template, dueAt: now.getTime() + mail.templates.ageMaxMs })
      return template
    } catch (error) {
      logger.warn({ err: error, kind }, 'mail template not usable; an older copy or the built-in one takes its place')
      copies.set(kind, { template: known, dueAt: now.getTime() + mail.templates.retryMs })
      return known
    }
  }
  // Many mails at once ask the operator's server once.
  const refreshOnce = (kind: MailKind, address: string, now: Date): Promise<Template | undefined> => {
    const underWay = fetches.get(kind) ?? refresh(kind, address, now).finally(() => fetches.delete(kind))
    fetches.set(kind, underWay)
    return underWay
  }
  const find = async (kind: MailKind, address: string, now: Date): Promise<Template | undefined> => {
    const known = copies.get(kind)
    return known && now.getTime() < known.dueAt ? known.template : refreshOnce(kind, address, now)
  }
  return {
    body: async (kind, now) => {
      const address = mail.templateUrl(kind)
      return (address === undefined ? undefined : await find(kind, address, now)) ?? getBuiltIn(kind)
    },
  }
}

async function fetchTemplate(outbound: Outbound, url: URL, bytesMax: number): Promise<Template> {
  const request = { method: 'GET', url: url.href, timeoutMs: TIMEOUT_MS, bytesMax, origin: 'operator' } as const
  const { status, body } = await outbound.send(request)
  if (status !== 200) throw new Error(`${url.host} answered ${status}`)
  return parseTemplate(body)
}
