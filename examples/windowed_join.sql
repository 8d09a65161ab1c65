-- A windowed join of two topics: which clicks led to an order within ten minutes, and, per five minutes, how many.
--
--   odradek spark run examples/windowed_join.sql
SET checkpoint = '${PIPELINES:-/tmp/odradek-pipelines}/windowed_join/checkpoint';
SET kafka.bootstrap.servers = '${BOOTSTRAP:-localhost:9092}';

CREATE SOURCE clicks FROM TOPIC 'clicks'
    DECODE JSON (customer STRING, page STRING, clicked TIMESTAMP)
    WATERMARK clicked DELAY '1 minute'
    WITH (startingOffsets = 'earliest');

CREATE SOURCE orders FROM TOPIC 'sold'
    DECODE JSON (order_id BIGINT, buyer STRING, ordered TIMESTAMP)
    WATERMARK ordered DELAY '1 minute'
    WITH (startingOffsets = 'earliest');

CREATE VIEW bought AS
    SELECT order_id, buyer, page, clicked, ordered
    FROM clicks JOIN orders
      ON customer = buyer AND ordered BETWEEN clicked AND clicked + INTERVAL 10 MINUTES;

INSERT INTO TOPIC 'bought' WITH (key = 'buyer') SELECT * FROM bought;

-- Mode append: a window is written once, when the watermark has passed its end.
INSERT INTO TOPIC 'clicks-per-page' WITH (key = 'page')
    SELECT window.start AS since, page, count(*) AS clicks
    FROM clicks
    GROUP BY window(clicked, '5 minutes'), page;
