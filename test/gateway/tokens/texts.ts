/** Texts of several scripts, a program, and JSON. */
import { readFileSync } from "node:fs"

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8")

export const codeSample = read("src/gateway/chat/Planner.ts")
export const jsonSample = read("openapi.json").slice(0, 60_000)

const twentyTimes = (text: string) => text.repeat(20)

export const scriptSamples = {
  Chinese: twentyTimes(
    "随着技术的不断发展，越来越多的企业开始使用大型语言模型来提高工作效率。北京是中华人民共和国的首都，有着三千多年的历史。请帮我写一封电子邮件，告诉客户我们的产品已经发货。"
  ),
  Japanese: twentyTimes(
    "人工知能は私たちの生活を変えています。今日は天気がいいので、公園を散歩しましょう。お客様にメールを書いて、商品が発送されたことをお知らせください。"
  ),
  Korean: twentyTimes(
    "인공지능은 우리의 삶을 바꾸고 있습니다. 오늘 날씨가 좋으니 공원에 산책하러 갑시다. 고객에게 이메일을 써서 제품이 발송되었음을 알려 주세요. "
  ),
  German: twentyTimes(
    "Die künstliche Intelligenz verändert unser Leben. Heute ist das Wetter schön, und wir gehen im Park spazieren. Bitte schreiben Sie dem Kunden eine E-Mail, dass die Ware verschickt wurde. "
  ),
  Spanish: twentyTimes(
    "La inteligencia artificial está cambiando nuestra forma de vida. Hoy hace buen tiempo y vamos a pasear por el parque. Por favor, escribe un correo al cliente y dile que el producto ya ha sido enviado. "
  ),
  Russian: twentyTimes(
    "Искусственный интеллект меняет нашу жизнь. Сегодня хорошая погода, и мы пойдём гулять в парк. Пожалуйста, напишите письмо клиенту и сообщите, что заказ уже отправлен. "
  ),
  Arabic: twentyTimes(
    "الذكاء الاصطناعي يغير طريقة حياتنا. الطقس جميل اليوم، وسنذهب للمشي في الحديقة. من فضلك اكتب رسالة إلى العميل وأخبره أن المنتج قد تم شحنه. "
  ),
  Hindi: twentyTimes(
    "कृत्रिम बुद्धिमत्ता हमारे जीवन को बदल रही है। आज मौसम अच्छा है और हम पार्क में टहलने जाएंगे। कृपया ग्राहक को एक ईमेल लिखें और बताएं कि उत्पाद भेज दिया गया है। "
  ),
  emoji: twentyTimes("😀😂🎉👍🏽 ❤️ 🚀🔥 👨‍👩‍👧‍👦 🇩🇪 ✅ ")
}
