-- Inserts the rows of the single movement of `post` as values. A distributed database keeps the plan of such an INSERT, and plans
-- an INSERT of a query again at each call. A capture with fees in the merchant's currency has four entries. One statement inserts
-- them, because they sum to zero together.
IF cardinality(entries) = 4 THEN
  INSERT INTO {{entries}} VALUES
    (m.merchant_id, journal_id, (legs[1]).seq, (legs[1]).account, (legs[1]).currency, (legs[1]).amount, m.test),
    (m.merchant_id, journal_id, (legs[2]).seq, (legs[2]).account, (legs[2]).currency, (legs[2]).amount, m.test),
    (m.merchant_id, journal_id, (legs[3]).seq, (legs[3]).account, (legs[3]).currency, (legs[3]).amount, m.test),
    (m.merchant_id, journal_id, (legs[4]).seq, (legs[4]).account, (legs[4]).currency, (legs[4]).amount, m.test);
ELSE
  INSERT INTO {{entries}} SELECT * FROM unnest(entries) AS row;
END IF;
IF cardinality(journals) > 0 THEN
  INSERT INTO {{journals}} VALUES (journal.merchant_id, journal.id, journal.created, journal.kind, journal.cause_id,
    journal.test, journal.hash, journal.hash_version);
END IF;
IF cardinality(trail) > 0 THEN
  INSERT INTO {{trail_entries}} VALUES (trail_entry.merchant_id, trail_entry.id, trail_entry.created,
    trail_entry.transaction_id, trail_entry.seq, trail_entry.kind, trail_entry.amount, trail_entry.gross,
    trail_entry.fee_flat, trail_entry.fee_rate, trail_entry.balance, trail_entry.descriptor, trail_entry.reference,
    trail_entry.line_id, trail_entry.dispute_id, trail_entry.rate, trail_entry.rate_date, trail_entry.hash,
    trail_entry.hash_version);
END IF;
IF cardinality(lines) > 0 THEN
  INSERT INTO {{lines}} VALUES (line.merchant_id, line.id, line.created, line.kind, line.balance, line.fee,
    line.description, line.transaction_id, line.amount, line.currency, line.balance_after, line.journal_id, line.test,
    line.hash, line.hash_version);
END IF;
IF cardinality(events) > 0 THEN
  event := events[1];
  INSERT INTO {{events}} VALUES (event.merchant_id, event.id, event.created, event.type, event.version,
    event.object_id, event.pending, event.captured, event.refunded, event.voided, event.disputed, event.trail_length,
    event.data);
END IF;
