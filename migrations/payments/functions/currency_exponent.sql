-- distribute: everywhere
-- Returns the decimals of the minor unit of a listed currency (ISO 4217), or NULL for any other text. A test compares the list
-- with that of the service. (reference: Currencies)
CREATE OR REPLACE FUNCTION {{currency_exponent}}(p_currency text)
RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
SELECT CASE
  WHEN p_currency = ANY ('{
    BIF, BYR, CLP, DJF, GNF, JPY, KMF, KRW, PYG, RWF, UGX, VND, VUV, XAF, XOF, XPF
  }'::text[]) THEN 0
  WHEN p_currency = ANY ('{
    AED, AFN, ALL, AMD, ANG, AOA, ARS, AUD, AWG, AZN, BAM, BBD, BDT, BGN, BMD, BND, BOB, BRL, BSD, BTN, BWP, BYN,
    BZD, CAD, CDF, CHF, CNY, COP, CRC, CUP, CVE, CZK, DKK, DOP, DZD, EGP, ERN, ETB, EUR, FJD, FKP, GBP, GEL, GHS,
    GIP, GMD, GTQ, GYD, HKD, HNL, HRK, HTG, HUF, IDR, ILS, INR, IRR, ISK, JMD, KES, KGS, KHR, KPW, KYD, KZT, LAK,
    LBP, LKR, LRD, LSL, MAD, MDL, MGA, MKD, MMK, MNT, MOP, MRO, MRU, MUR, MVR, MWK, MXN, MYR, MZN, NAD, NGN, NIO,
    NOK, NPR, NZD, PAB, PEN, PGK, PHP, PKR, PLN, QAR, RON, RSD, RUB, SAR, SBD, SCR, SDG, SEK, SGD, SHP, SLE, SLL,
    SOS, SRD, SSP, STD, STN, SVC, SYP, SZL, THB, TJS, TMT, TOP, TRY, TTD, TWD, TZS, UAH, USD, UYU, UZS, VED, VEF,
    VES, WST, XCD, XCG, YER, ZAR, ZMK, ZMW, ZWG, ZWL
  }'::text[]) THEN 2
  WHEN p_currency = ANY ('{
    BHD, IQD, JOD, KWD, LYD, OMR, TND
  }'::text[]) THEN 3
END
$$;
