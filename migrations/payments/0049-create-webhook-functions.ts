// Why: where a merchant wants its events sent is changed by one call each; secrets arrive sealed and stay so.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource, Names } from '../migration.ts'

const WEBHOOKS_MAX = 10

/**
 * p_url: NULL when only access is to be checked. p_allow_http: whether a test merchant may have events sent in the clear.
 * Ids are taken before webhooks are counted: whoever holds the balance row counts alone.
 */
async function createCreate(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('create_webhook')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_url text, p_events text[], p_secret_sealed bytea,
      p_allow_http boolean
    ) RETURNS TABLE (verdict text, identity_id text, webhook ${names.id('webhooks')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      claimed record;
      ids record;
      is_test boolean;
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' OR p_url IS NULL THEN RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
      IF claimed.verdict <> 'claimed' THEN
        verdict := claimed.verdict;
        webhook := jsonb_populate_record(NULL::${names.id('webhooks')}, (claimed.held).body::jsonb);
        RETURN NEXT; RETURN;
      END IF;
      ids := ${names.id('take_ids')}(p_merchant_id, 1);
      SELECT m.test INTO is_test FROM ${names.id('merchants')} m WHERE m.id = p_merchant_id;
      verdict := CASE
        WHEN p_url LIKE 'http://%' AND NOT (p_allow_http AND is_test) THEN 'not-https'
        WHEN (SELECT count(*) FROM ${names.id('webhooks')} w WHERE w.merchant_id = p_merchant_id) >= ${sql.lit(WEBHOOKS_MAX)}
          THEN 'too-many'
        ELSE 'done'
      END;
      IF verdict <> 'done' THEN
        PERFORM ${names.id('release_key')}(p_caller, p_merchant_id, identity_id);
        RETURN NEXT; RETURN;
      END IF;
      INSERT INTO ${names.id('webhooks')} AS w (merchant_id, id, created, url, events, secret_sealed)
        VALUES (p_merchant_id, ${names.id('id_at')}(ids.first, ids.tag), ${names.id('created_at')}(ids.first),
          p_url, p_events, p_secret_sealed)
        RETURNING w.* INTO webhook;
      PERFORM ${names.id('add_audit')}(
        p_merchant_id, identity_id, 'webhook.created', jsonb_build_object('webhookId', webhook.id, 'url', p_url)
      );
      PERFORM ${names.id('finish_key')}(
        p_caller, p_merchant_id, identity_id, 201, webhook.id, NULL, to_jsonb(webhook)::text
      );
      RETURN NEXT;
    END $$`.execute(db)
}

/** For a day both secrets sign, so that a consumer changes over without a gap. */
async function createRotate(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('rotate_webhook_secret')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_webhook_id text, p_secret_sealed bytea
    ) RETURNS TABLE (verdict text, identity_id text, webhook ${names.id('webhooks')})
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    DECLARE
      claimed record;
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' OR p_secret_sealed IS NULL THEN RETURN NEXT; RETURN; END IF;
      SELECT w.* INTO webhook FROM ${names.id('webhooks')} w
        WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id FOR UPDATE;
      IF NOT FOUND THEN verdict := 'not-found'; RETURN NEXT; RETURN; END IF;
      claimed := ${names.id('claim_key')}(p_caller, p_merchant_id, identity_id);
      IF claimed.verdict <> 'claimed' THEN
        verdict := claimed.verdict;
        webhook := jsonb_populate_record(NULL::${names.id('webhooks')}, (claimed.held).body::jsonb);
        RETURN NEXT; RETURN;
      END IF;
      UPDATE ${names.id('webhooks')} w SET secret_sealed = p_secret_sealed, previous_sealed = w.secret_sealed,
          previous_until = now() + interval '24 hours'
        WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id RETURNING w.* INTO webhook;
      PERFORM ${names.id('add_audit')}(
        p_merchant_id, identity_id, 'webhook.secret-rotated', jsonb_build_object('webhookId', p_webhook_id)
      );
      PERFORM ${names.id('finish_key')}(
        p_caller, p_merchant_id, identity_id, 201, p_webhook_id, NULL, to_jsonb(webhook)::text
      );
      RETURN NEXT;
    END $$`.execute(db)
}

async function createDelete(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('delete_webhook')}(
      p_caller ${names.id('caller')}, p_merchant_id text, p_webhook_id text
    ) RETURNS TABLE (verdict text, identity_id text)
    LANGUAGE plpgsql VOLATILE AS $$
    #variable_conflict use_variable
    BEGIN
      SELECT j.verdict, j.identity_id INTO verdict, identity_id
        FROM ${names.id('judge_access')}(p_caller, p_merchant_id) j;
      IF verdict <> 'done' THEN RETURN NEXT; RETURN; END IF;
      DELETE FROM ${names.id('webhooks')} w WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id;
      IF FOUND THEN
        PERFORM ${names.id('add_audit')}(
          p_merchant_id, identity_id, 'webhook.deleted', jsonb_build_object('webhookId', p_webhook_id)
        );
      ELSE
        verdict := 'not-found';
      END IF;
      RETURN NEXT;
    END $$`.execute(db)
}

/** A target that never answered is given up; whoever reads the events sees that nothing is sent there any more. */
async function createDisable(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('disable_webhook')}(p_merchant_id text, p_webhook_id text) RETURNS void
    LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      UPDATE ${names.id('webhooks')} w SET disabled = date_trunc('milliseconds', clock_timestamp())
        WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id AND w.disabled IS NULL;
      IF FOUND THEN
        PERFORM ${names.id('note_event')}(w.merchant_id, 'webhook.disabled', w.id,
            jsonb_build_object('id', w.id, 'url', w.url, 'events', w.events, 'created', w.created, 'disabled', w.disabled))
          FROM ${names.id('webhooks')} w WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id;
      END IF;
    END $$`.execute(db)
}

/**
 * Sends to one target again what has happened after an event, and from now on what happens. Answers how many events; NULL
 * when there is no such webhook. What still waits in the outbox is on its way already.
 */
async function createReplay(db: Kysely<unknown>, names: Names): Promise<void> {
  await sql`
    CREATE FUNCTION ${names.id('replay_webhook')}(p_merchant_id text, p_webhook_id text, p_after text) RETURNS bigint
    LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      UPDATE ${names.id('webhooks')} w SET disabled = NULL WHERE w.merchant_id = p_merchant_id AND w.id = p_webhook_id;
      IF NOT FOUND THEN RETURN NULL; END IF;
      PERFORM ${names.id('add_audit')}(
        p_merchant_id, NULL, 'webhook.replayed', jsonb_build_object('webhookId', p_webhook_id, 'after', p_after)
      );
      RETURN (
        SELECT count(*) FROM (
          SELECT ${names.id('enqueue')}(e.merchant_id, e.id, 'event', jsonb_build_object('webhookId', p_webhook_id))
          FROM ${names.id('events')} e WHERE e.merchant_id = p_merchant_id AND e.id > p_after
        ) sent
      );
    END $$`.execute(db)
}

export const createWebhookFunctions: MigrationSource = (names) => ({
  async up(db: Kysely<unknown>) {
    for (const create of [createCreate, createRotate, createDelete, createDisable, createReplay])
      await create(db, names)
  },
  async down(db: Kysely<unknown>) {
    const caller = names.id('caller')
    await sql`DROP FUNCTION ${names.id('replay_webhook')}(text, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('disable_webhook')}(text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('delete_webhook')}(${caller}, text, text)`.execute(db)
    await sql`DROP FUNCTION ${names.id('rotate_webhook_secret')}(${caller}, text, text, bytea)`.execute(db)
    await sql`DROP FUNCTION ${names.id('create_webhook')}(${caller}, text, text, text[], bytea, boolean)`.execute(db)
  },
})
