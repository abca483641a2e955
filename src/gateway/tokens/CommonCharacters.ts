/**
 * Which characters and pairs of characters are tokens of `o200k_base`. A test compares both with
 * the tokenizer's tables.
 */

/**
 * The characters beyond ASCII that are one token: ranges in base 36, each as its distance from the
 * end of the one before, and its length if that is not 1.
 */
export const commonCharacters = `
3k h.3 4 6.1n 1.1a 1.3 1.3 1 3.3 1 1.3 1 1 3 1 1 3.3 3 1 2 1 1 2.4 1 1 2 1 2.4 4.4 1.7 1 2.2 1 1 1 1 1 1 1.9 f.2 1 6
6.2 d.2 t 21.4 1h 1.2 2 1 1 p 1x.2 9 j 1.2 y.4 2 1.3 1 m 3 5 2e 1 1 3 3.i 1.7 2.4 1.u 1e.2 1.5 5 1.1s 1.c 1.2 1c 1.2 3
1.3 3.3 1 3 1 1 1.7 1.3 2.2 1 1 o.2 7 1 4.2 5 7 19 b.5 2.9 3.7 1.5 1.5 4 1.2 2.13 1 12 3.6 2 1.2 g.r 7.3 n e 3 1.q 5.l
b.d 3 8.9 1.8 1.2 1 1 1 1.2 1.3 e.3 1 1 3 1 4.3 1 1.2 1 2.3 2.4 1 1 1.2 q.a 3.2 ea.3 1.6 4.3 1.m 1.a 1.5 2.8 1 1.3 1.3
a 2.4 5.d g.3 1.3 1 5 3 1.k 1.7 1 3.4 2 1.6 3.2 2.4 d.2 1 6.c 5 a 2.5 5.2 2 1.4 1 1.2 1.3 1.6 1.7 1 2.2 1.2 2 1.5 4.2
2.3 d.2 a.2 7.2 g.2 1.5 5 3 1.4 1.4 1.a 1.7 1.2 1.5 4.6 1 1.3 1.3 o.a m.2 d 1 1.4 2 1 1.6 1 1.3 1 1.2 2.4 4.4 5 3 1 h
11.3 1 4 3 2 3.2 1 1.2 3.2 3.3 3.8 1.3 4.5 3.3 1.2 1 1g 2.5 4.2 5.3 2 1 2 1 1.6 1.7 1.2 1.5 4.6 2.3 1.4 8 17.2 1.5 4 1
1 2.4 1 1 2.a 1.7 1.2 1.5 4.6 2.3 1.4 7.2 f.3 p 2.5 4 1 1.2 1.6 1 1.4 1.6 1.g 4.6 2.3 1.2 1 9 y.5 3 2 b 2 5 1 2.2 1 4
1 1 1.5 1.2 1.6 1 2.6 4 4.6 1 1.3 1.2 z.2 1 1.6 1.5 1.j 1.j 6.5 1.8 3.2 1y o 2g 2i 49.3 1.4 2 4.4 1.c 1 3 5.9 2.9 1.c
1 1 a z.3 7 6.2 3.2 1m.x 1an.3 1.2 1 1.2 3.f 2.4 j.9 1.e 1.2 1 1 1.2 8.a 17t h n 3 1 1 1 3 f 6.2 9 3 1a.a 1.5 1 1 1.5
1 1.7 1.3 1.5 1.7 1.9 1.9 1 1 1.3 1 3 1 6 f 1r v 5.3 2l f f b.2 1 3.9 1.3 2.3 1.7 1 1 1 1.7 1.2 5.4 z 2 u 13 1 c 15 v
i b 3 1l.2 2 f 7 j.4 1q 19 5 b 6.2 3 9 v r.2 5 dw.5 4b.4 o 6 18.2 5 5 y 3 3 2 5.3 c.2 8.3 5.2 2.2 2 1.2 8.2 3 2.2 1h.2
7 11 5 5 1 u 3.2 3.2 49 d.2 j 1n 1o 2m nj 4 x6.3 2 1.c 1.3 5 10.2 1 1.3 1.o 1.9 1.7 1.5 1.j 1 2.2 d.4 1.s 1.2 1.6 1.x
1 3.2 1 4.3 21 3 2 h.2 17 er 57i.2 1 3.5 1.2 4.2 1 1 1 1.2 6.3 1 1 2 2 1 1 1 1.4 1.2 4 1 2.2 1.2 1 1 3 2.3 3 1.3 4 9.2
1 a 3 3 1.2 1.2 1.2 1.2 1.2 4.2 2 2 2 1.2 1 1.4 3 7 4.3 3 4.2 1.2 4.4 1.2 9.3 4 1 5 3.2 3 1 3 8 2 1 1 5.4 2 1.2 3 1
8.2 3 3 3 9 6.4 2 1 3 1.2 3 2 5 9 b 6 4 f 1 2.2 1 3 7 5 9 2.3 5 c 5 3 c 2 8 g 1 3.2 6 5 1 2 6 e 1 1 8 7 a 1 8 e 1.2 7
5 j e 3 6 3 l 1 5 z a 11 k 1 1.4 1.2 1 1 2.3 1 5 a 1.3 1.3 2.2 1.6 2.3 7.2 1 1 1.2 4 6 1.2 3 b 3 1.2 1 1 3 4 5 2 2 2 d
2.2 2 1 6 1.2 7 1.2 1 2 5.2 2 6.2 4.5 1 2 3.2 3 1 4 5.3 1.2 6 4 2 2 3 i 2 1.2 4 2 2 h j 2.4 6.3 6.3 5 5 7 a 2 3 3 1 2
1 q 5 g.2 1 v.3 4.2 1 3.2 1 3.2 2.7 1 5.3 4 3 4.2 1.2 2.2 9 2.2 2 1 9 2 1 4 6 1 i 3 2.2 4.7 2 2 1.3 a.4 3.3 2.2 1.2
2.3 a.2 3.3 1.3 1.2 3 1 3 2.2 6.3 2.2 2 4 3.2 1 2 1 7 1 d 9 5 a 1 5.3 d.2 9 h 1 m 6 4 j 3.2 3 2 4 t t.2 1 k 3 4 l.2 3
p 5 d 3.2 g 7.2 m w p 4 c o a s b 36 2 1 1.2 9 2 1.3 5 2.2 7 1 2 6 3 1 6 3 4 7 2 6 3 1 1 4 2 4.3 5 2.2 1 3 4 3 o 7 1j
a 5 a p.2 7 u f 2.2 r 2 3 5 c n f 3 1 4 9 o 5 z 2 1 1 h 2 1 3 1 5.2 3 1 2 2 4 1.3 2 2 2 4.2 c.3 1 3 1 2 1.2 d d.2 1.4
3 4 4.2 a 2 2 4 f a 1 a 4 4.2 1.2 5 1 b m 1 1 3 g 2.2 k k j b g q w 9 3.2 9 s v 1y 3.2 1.3 5 3.2 1 2 e 8 1 1 1.3 1.2 2
7.2 1 1.9 6 2 4.2 1 2 3.3 4 1 5 5.2 9 1 6 1 2 a 1.5 1.2 1.2 1 1.3 1.2 1.3 1 2 1 3 2 6 c 6 1 1.7 2 4.2 3 5 8 6 9 1 f l
3 5 7 3 5 4 14 e 5 n 5q.2 2 3.4 5 2.2 1 6 5.3 1 2 3 3 5 6 8 4 1.4 2 2 1 4 7 f s.3 1 1 2.3 1 3.2 1 3 4 3.3 1 4 2 6.2 3
1 9 h p i.2 2 5 1.3 5 4 5 1.2 6.2 g 3 1 1.2 n.2 1 c 3 2 6.2 7 1.2 3.2 2.2 2 2.2 3 1 4 6 2 7.2 3 4.2 2 5 5 1.2 6 9.3 2
3 6 3 9 7 2.2 c 3 2.2 6 3 3 1 2 g f 4 1 f 6 5 6 i l.2 2 2 1 1 7 i 4 6 a 3 7 6 3 r b 3 v 8 2 2 j 4 8 29 6 1i e.4 3 1 d
3 5 1 1 1.3 2 3.2 a 1.2 2.3 1 2 a 3 1 1.2 3.2 4 2 4.3 9 8 1 1.2 3 1 3 1.2 5 5 3 6.2 7.2 2 3 4.3 1 1 2.2 2 5 2.2 2 6 8
1.2 1.2 4 1 7 f 1 1 9 a q 9 2 b 8 b 4.2 2 5 8 5.2 2 1.2 1 7 m 5.2 1 8 5 b 6 q c 1 d.2 c 9 1.2 g g e a d.2 b 5 8.2 9 h
2 c b 1i h 6 2 1 2.2 5 2 3 2 1 5 1 8.2 2 5 3 3.2 2 e f 1 a 8 1.2 8 2.2 3 3 5 3 7 8 1 2.5 2.2 8 3 7 3 5 1 4.2 a.2 4 2 4
1 c 1 3 8 6.2 6 d 5.3 3 1 3 7 4 9 4.2 g 5 5 13.2 i 1 1 3.2 2 1.3 2 4.2 1 1 9 3 1 1 8 1.4 1 1 8 5 1.2 2 2 4.4 a 2 1 3 2
4 1.3 c.2 1 2 b 6 2 1.2 c b d a.2 2.2 7 8 b 1.2 6 b 3 3 1 5 9 8 c.3 2 5.2 2 1 3 4 h 1 g a 3 n 8 1 6.2 f a 6 7 j u 4 9
1p i 7 6.2 4 p 1a c 10 4 g 5 7 1 6 w j p 4 3v l.4 3 a 7 3 a 2 6 d.6 2 8.3 2 3 e.2 a u 4 6 3 7.3 2 1.2 5 f z 1 2 2 b 3
c 3 8.2 4 1 d 7.3 2 l 2 3 1 4.2 8 3 2 5 1.2 7 8 5 1 3 1 2 4.2 a 5 5.2 2 2 7 2 9 3 9 b 3 2 6 4 7 8 2 2 3.2 4 2 4 8 9
2.2 3 5 2 g.2 9 5 1 a 1.2 5 2 2 y 8 9 5 5 3 9 2 7 a 4.2 7 2 2 8 t 1 11.3 f 5 j w 5 8 6 2 3 b a 2 c 4 d 8 14 3 3 g.2 1e
h c 4i 7 1 1.2 4 8 a 4 3 r 9.3 1 b m 6.2 5 1f 4 f 5 f c a 2 y k h h h 9 12 15.2 3.4 4 9.2 3 c 1 5.2 4 1 8 6 1e 2 6 b d
6 8 b b 3 h c.2 d.2 2 5 1v b 2 1 1 a 4 d 5.2 1 8 h i c g 4 2 z 8.2 15 10 18 17 6 2 f x 1 1 2 2.2 4 7.4 1 1.2 1.2 9 6 c
b 4.2 4 5 f a 5 j 3 2 9 1 6 1 j 2u 9 19.5 5 1.2 12 n 1 1 5.3 3.3 2 3 3.2 9 5 3 5 2 7 1.2 i.2 r 3 q 5 1 20 1k 3 3 5 b
1.2 h 1 t b k m 1 u.2 2 u 9 1 4 12 29 1 1 n 6.2 6 2 4 j d n j 1.2 1.2 9 1 3.2 5 6 6 8.2 a f 1.2 v 2 1 b 6 6 12 1 3 4 1
b 9 5 7 11 d 4.3 4 9 6 2 n 2 h 5 p 2 1 5 2 1 4 t 4 1 m 9 b 3 e 6 1 10 1e 17 11 7 d 8 4 c 9 f m.2 10 4 3.2 7 6 4.2 5 1
4 3 3.2 8 8 1 7 3 g 4 a.2 3 s 6 i 4 s 2 7 5 7 r 15 e.2 2 22 j 1 3.2 2 1 2 2.2 1 1.3 3 1 3.2 1.3 4 1 1 1 1 2.2 2.2 1 7
1.2 2 6 7 2 j 2 1 g a 5 m 5 2 e.2 3 3 i 4 3 f 5 4 j 3 a 5 1 b q.2 3.2 1 1 6 3 6 r m 1 7 3 1 3 b 4 2 4 b 5 2 9 a 2.2 3
5 2 7 8 2 5 1 7 5 1 2 k 1 4 4 e 8 m 6 n 4 q 2 5 4.2 s w 2 y 6 2 5.2 5 c.2 4 4 1 2 6.2 a 1 3 8 d 13 2.2 3 2 3 3 q e 2 1
1 4 4 f 1 1 5 d.2 a h 1e 1 g 6 1 e 1 b 7 h 4 4 a c 5.2 4 k f i 2 h 7 g 7 2 3 g b d 3 5 1 u m o 16 1v 13 v q x 3 1 y d
6 2x 1.2 3 4 4 b d 3 21 3 f 12 p 2h m 4y b 6 3 3 5 1 1 2 y a 5 e 1 j.2 2 9 5 3 2.2 6 j 4 30 k 1 4 4 3 6 3 c 2 8 9 2.3
1 1 1.2 8 g 2 p 1 5 1 3 9 h 2 3 1 6 1 o 8 3 3 a 1 l 2.2 a 5 b 1.2 2 1 c 7 3 a 1w 1 17 e d 9 6 8 9 8 d.2 1 3.2 3.4 1 5
1 3.4 2 1 1.3 2 3 3 1 2 2 4 2.2 6 1 1 2 2.2 1.2 2 2 1 4 2 7 8 5 5 8 5 e 3 m 8 e i j.2 6.2 2 a.2 2.2 3 6 m b h w 1 1.8
2 1 1 4.2 1.3 7 2 6.2 2 4 1 3.2 2 1 1 1 6 4 3.4 d 4.2 n f f 8 4 b 1 8 6 3 1 p p.2 2e 15 u 2 k q 5 5 w 4 8 g s 1.2 2
1.2 4 6 1 5 1.2 2 7 1 2 4 2 4 2 1 7.3 6.2 1.3 2 3 1.2 5 1.2 2 3.2 1.5 a.2 4 6 1 3 2.4 2 2.2 4.2 1 1 4.2 4.2 2 d.2 5
2.2 5 4 2.2 1.2 4.3 1 8 2 1 3 3.2 6 2 6.2 3 c h 2 3 3 c i 2 m 4 7 7 27 4 10.2 g 8 o r 2 1.4 1 36 1b b 3n 16 2 1u 2a 27
2a s m 2 2 8 2 9 5 1 o g 8 3 3 1.2 3 5 4 8 7 4 7 o k q 7.2 8 1 7 e e.2 15 b 1 2.2 3 1 6 5 3 p a 7.5 4 3 4.3 1 3.2 2 h
1 4.2 5 4.3 2 2 8 3 3.3 3 6.2 x 1 3.3 a 3 3 4 3.2 4 1 b.2 3 4 6 5 g j 5 p 3 2 4 1 1 6 x 1z l 9 b 1.3 1.2 1 7 7 k d.2
f.2 6 3 5 m.2 2.3 2.2 4 1 a 4.3 3.2 a 11 c 2.2 f 2 n 5 n 1w.2 1 l 1 d 2 e 3 o 25 1v k 3.2 4 4 2 d 4 5 2 9 3 7 z 3 2r 5
2 9 4 5 81 4 q r 18 8p 1 1 9 h 5 9 w e n 7 6 k.2 6.2 9 2.2 5 5 1b 4 c q k h x 8 b 2g6.2 2 3 7.3 2 3 2.2 2a 3 3 7.2 1 8
j 7.2 2 3 b.2 6 r.2 2 3 a 1 6 3 g y r r.2 2 3 c a 1f r 3 n.2 2 3 7.2 12 3 3 7 b 7 j 2b r r 26 38 f 3f 7 7 8 u f b 3 3
7.2 2 7 3 3 b 7 k y 7 7 b i 8.2 2 b 4 y 3 3 c 4.2 34 3 2z r 3 3 c y.2 2 b 4 6.2 2 2.2 7.2 1 1 6 i 1s.2 2 b b 7 23.2 2
3 c y j 7 3 3 7.2 12 7 23 1j.2 2 3 a 1 y k 6 r 2b 3 2z 7r i 1s.2 2 b.2 3 6.2 2 b.2 1 9 j y.2 2 3 7.2 9.3 2 e 8.2 2 3
7.2 2.2 6 r.2 2 3 8 1 1s r r f.2 2m 7 j 3 3 7 13.2 2 3 7.2 1 1 6.2 2 1 1 a 1.2 5.2 2 27.2 2 3 j 3 n 3 g 1 w.2 2 3 7 2
3c 3 3 2v r 1j 3 3 c 1 4.3 1 2.2 7 4 6.2 2a 3 3 7.2 a 3 3 k 2 3 c y.2 2 3 c 6 j 2j.2 2 3 g 2e r 7 1b 3 3 c 1 4 a7 3r 3
27.2 2 3 7 4 6.2 j n 12.2 2 3 8 3 6 3 3 j 3 3 b z.2 2 3 c y 1j r.2 2 3 7 1v g a r 3 3 7.2 1 1 y.2 2 3 7.2 3 4 1 33 av
3 b 13.2 2 n.2 2 1 1 7.2 2.2 4 1.2 2 3 j.2 j y.2 2 3 7.5 7 3 3 j.2 2 3 7 3.2 6 r.2 2 3 8 a 3 f.2 6 r r.2 j 6.2 2 3 7 2
8 3 3 b 7 g a 3 n.2 2 3 c 6 3 3 7 4 6 r.2 2 3.2 6.2 2 7.2 2 3 7.2 3 6 k 1q.2 2 3 7.2 3 6.2 2 n j z.2 2 b 4 5.2 1j r
r.2 2 3 c 6 33 3 3 7 4 y.2 2 3 7.2 1 1 6.2 q 5g 9a.2 q.2 2 1 1 7 4.2 5.2 2a.2 2 3 7 2 1 6 r j z.2 2 g 1q 1j.2 2 3 7 4
6 1j 1j.2 j y.2 2 3 7 4 6 7 j 2b 3 3 7.2 a i 8 1j 3 3 c 3a 33 r 3 3 7 13 3 3 c 6.2 2 3 c 6.2 2a 3 3 j.2 2 3 7 1v.2 2 g
1q 1j 2b r r.2 2 3 1b.2 2 b 4 6 3 3 j.2 2 27 r r 3 g 6 r.2 2 3 7 2n r 7 7 4 2i r 3 3 1b.2 2 3 a 1 6.2 2 3 7.2 3 6 j.2
r y 3 b b r.2 2 3 8 3 6 r.2 2 3 7 4 6.2 2 3 c y.2 q r 3 27 r 18 3 6 r 3 b 3h7 1gy f w z 1z8 lo.2 6p 3.2 1.w 3 1.4 1.3
6.6 4 7 9 4 1 2 1.3 9.2 1 m i 1.2 1v 1 m.2 1c71.2 22 1 2.2 1 1x 3z 62.3 6.2 2 a k k c k3 9vg1`

/** One bit for each pair of ASCII characters, by 128 * first + second: whether it is a token. */
export const asciiPairs =
  "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAYAAAEAAAD+//8H/v//BwAEAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAkAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" +
  "AAAAAAAAAAAAAAAAAAAAAAAABgAA//8A/P////////9/AAQAAIb3AKQAAAA4AAAAAAAEAAD+/wDcvvuZuBMJCDkABAAAHtgABAAAAAiCIIAIAA" +
  "QAABDRAAQAAgCQXvZfCQAEAACmcwAoPwAAUDxiCAEABAAASBMAAL6jnYAiop8AAAQAALz/APw68zj49vO/LwAEAAD+7wCc////3////18ABAAA" +
  "/v8A/AAQQPg/4lk7AAQAAFb3AGQLaBiY3n//BwAEAACc+wAkHgAAOB5/nQMABAAA/v8AFP///9/+//8PAAQAAPT3AGD+//+f/v//HwAEAAD+/w" +
  "C8/////////18ABAAA/P8A9P/////+//9PAAAAAAAA/wMAAAAAAAAAAAAAAAAAAP8DAAAAAAAAAAAAAAAAAAD/AwAAAAAAAAAAAAAAAAAA/wMA" +
  "AAAAAAAAAAAAAAAAAP8DAAAAAAAAAAAAAAAAAAD/AwAAAAAAAAAAAAAAAAAA/wMAAAAAAAAAAAAAAAAAAP8DAAAAAAAAAAAAAAAAAAD/AwAAAA" +
  "AAAAAAAAAAAAAA/wMAAAAAAAAAAAAEAAD8/wC0/3cd+////w8ABAAA9PsAGAAAABAu/h8jAAQAANqhAPD+//+JTmP5CQAEAAD+5QD0H3CZmf//" +
  "/y8ABAAA/PcA/D96GT0XAIg5AAQAAJ7zANQAAACYAknfEAAEAAAUAQAEAQAAGIBgCAIAAAAAAAAAAP7//wf+//0HAAAAAAAAAAD+//8Hvv+9Aw" +
  "AAAAAAAAAA/v//B/7zfQMAAAAAAAAAAP7//wd+9/0HAAAAAAAAAAD++/8H/n9/BwAAAAAAAAAA/vv9A776vQMAAAAAAAAAAP77/QMu170CAAAA" +
  "AAAAAAD+//8HtrL9BwAAAAAAAAAA/v//Bf7+3wcAAAAAAAAAAP7+/QAi0ygCAAAAAAAAAAD++/0CtvP8AgAAAAAAAAAA/vv9A/72eQIAAAAAAA" +
  "AAAP7//wP+//8HAAAAAAAAAAD+//0Hvr99BwAAAAAAAAAA/v/9A9z//QcAAAAAAAAAAP7//wP++/wDAAAAAAAAAAA+cn8AipI8AAAAAAAAAAAA" +
  "/v//A/7z+wMAAAAAAAAAAP7//wd+//8GAAAAAAAAAAD+//0HfrvtAwAAAAAAAAAA/n/9B9573QcAAAAAAAAAAP77/QEqui0GAAAAAAAAAAD++/" +
  "0DMoM9AwAAAAAAAAAAfvJdBzIiOQAAAAAAAAAAALr4vQci4iwAAAAAAAAAAADy47wHMufgAAAEAAC8tQAE/35d+////w8ABAAAlPEAFCAgCRh2" +
  "QHwBAAQAAOb/APwAAAD4AAAAOAAAAAAAYwAAAAAAWAAAAAgABAAAtPcAPP7////+//8fAAQAAABSAAwAAAAwAQAYIAAAAAAAAAAAAAAAAP7//w" +
  "cAAAAAAAAAAAAAAAD+//0HAAAAAAAAAAAAAAAA/v//BwAAAAAAAAAAAAAAAP7//wcAAAAAAAAAAAAAAAD+//8HAAAAAAAAAAAAAAAA/v//BwAA" +
  "AAAAAAAAAAAAAP73/QcAAAAAAAAAAAAAAAD+//8HAAAAAAAAAAAAAAAA/v//BwAAAAAAAAAAAAAAAP7/vwMAAAAAAAAAAAAAAAD+//0DAAAAAA" +
  "AAAAAAAAAA/v/9BwAAAAAAAAAAAAAAAP7//wcAAAAAAAAAAAAAAAD+//0HAAAAAAAAAAAAAAAA/v//BwAAAAAAAAAAAAAAAP7//wcAAAAAAAAA" +
  "AAAAAAA+878DAAAAAAAAAAAAAAAA/vv/BwAAAAAAAAAAAAAAAP7//wcAAAAAAAAAAAAAAAD+//0HAAAAAAAAAAAAAAAA/v//BwAAAAAAAAAAAA" +
  "AAAP7//wcAAAAAAAAAAAAAAAD+//0DAAAAAAAAAAAAAAAAfvM9BwAAAAAAAAAAAAAAAP7//QcAAAAAAAAAAAAAAAD++70HAAQAALSgAAQBAAAQ" +
  "AIoIOQAEAACEIQAAAAAAEAAAABAABAAA9vsA/AEAALgBAAg4AAQAAACwACAAAAAAAAAAQAAAAAAAAAAAAAAAAAAAAAA="
