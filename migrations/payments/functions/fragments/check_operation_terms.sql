-- The login of the service can pass any margin.
  IF (p_margin_bps BETWEEN 0 AND 10000) IS NOT TRUE THEN
    RAISE EXCEPTION 'a margin is 0 to 10000 basis points' USING ERRCODE = 'invalid_parameter_value';
  END IF;
