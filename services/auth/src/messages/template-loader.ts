import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import type { MailConfig } from '../config/mail.ts'
import { DEFAULT_TEXTS, MAIL_KINDS, type MailKind } from './default-templates.ts'
import { parseTemplate, type Template } from './mail-template.ts'

/** Finds the body of a kind of mail. */
export interface TemplateLoader {
  /** The operator's template, else its last copy, else the built-in template. Never fails. */
  body(kind: MailKind, now: Date): Promise<Template>
}

interface Copy {
  readonly template: Template
  /** When to fetch it again. */
  readonly dueAt: number
}

const TIMEOUT_MS = 10_000

/**
 * Creates a loader that keeps fetched templates in memory (reference: Mail templates). A template that cannot
 * be parsed counts as not fetched.
 */
export function createTemplateLoader(
  config: MailConfig,
  outbound: Outbound,
  logger: { warn(line: object, text: string): void },
): TemplateLoader {
  const copies = new Map<MailKind, Copy>()
  const fetches = new Map<MailKind, Promise<Template>>()
  const refresh = async (kind: MailKind, url: string, now: Date): Promise<Template> => {
    const { ageMsMax, retryMs } = config.templates
    const cacheCopy = (template: Template, forMs: number): Template => {
      copies.set(kind, { template, dueAt: now.getTime() + forMs })
      return template
    }
    try {
      return cacheCopy(await fetchTemplate(config, outbound, url), ageMsMax)
    } catch (error) {
      logger.warn(
        { err: error, kind, url: withoutSecrets(url) },
        'mail template not usable; an older copy or the built-in one takes its place',
      )
      return cacheCopy(copies.get(kind)?.template ?? builtIn(kind), retryMs)
    }
  }
  return {
    body: async (kind, now) => {
      const url = config.templateUrl(kind)
      if (url === undefined) return builtIn(kind)
      const known = copies.get(kind)
      if (known && now.getTime() < known.dueAt) return known.template
      // Concurrent mails share one fetch.
      const fetched = fetches.get(kind) ?? refresh(kind, url, now).finally(() => fetches.delete(kind))
      fetches.set(kind, fetched)
      return fetched
    },
  }
}

/**
 * Fetches every template that the settings name.
 * @returns how many can be used, and of each other one its kind, its URL and the reason, with the place of a mistake
 */
export async function checkTemplates(
  config: MailConfig,
  outbound: Outbound,
): Promise<{ readonly count: number; readonly problems: readonly string[] }> {
  const named = MAIL_KINDS.map((kind) => ({ kind, url: config.templateUrl(kind) }))
  const problems: string[] = []
  let count = 0
  for (const { kind, url } of named) {
    if (url === undefined) continue
    try {
      await fetchTemplate(config, outbound, url)
      count += 1
    } catch (error) {
      problems.push(`${kind} (${withoutSecrets(url)}): ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { count, problems }
}

async function fetchTemplate({ templates }: MailConfig, outbound: Outbound, url: string): Promise<Template> {
  const { status, body } = await outbound.send({
    method: 'GET',
    url,
    timeoutMs: TIMEOUT_MS,
    bytesMax: templates.bytesMax,
    origin: 'operator',
  })
  if (status !== 200) throw new Error(`${new URL(url).host} answered ${status}`)
  return parseTemplate(body)
}

/** A URL without its user and its query, which may hold a password and a signature. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function builtIn(kind: MailKind): Template {
  return parseTemplate(DEFAULT_TEXTS[kind].body)
}
