/**
 * Words that are one token of `o200k_base`, with and without a blank before them, and at most two
 * after a tab or a sign. They are its most frequent ones: of English and of programs. A test checks
 * each of them.
 */

/** The same holds with a capital first letter. */
export const commonWords = `
aan ab aber ability able about above abs absolute abstract ac acc acceler access account accounts ace ach act action
actions activ active activities activity actor acts actual actually ad ada adapt adapter add added adding addition
additional addr address addresses adds ade adj adjust adm admin administr ads adult adv advance advanced advantages
advert af aff afin after ag again age agency agent aggreg ago agr agree ah ahead ai aid aim air aj ak ako akt al alarm
album ale alert alg algo ali align alive all alla alle alles alloc allow allowed allows almost along alpha already als
also alt alta alter altern alternative although always am ama amb amen amer among amount an ana anal analysis anc and
anda android ang anim animal animals animated animation ann ano another ans answer answers ant ante anti any anything
ao ap apart api app appe append application applications apply appointment appro apps apr aqu ar ara arbe arch are
area areas arg args argument arguments arm around arr array art article articles artist artists arts as asc ask asp
aspect ass assembly assert assessment asset assets assign assigned assignment assim assist associated association ast
async at ath ati atr att attr attribute attributes au auch aud audio auf aug aunque aur aus aut auth author authors
auto autom autor aux av aval avant ave avec average avoid aw await award away ax axis ay az ba bab baby back
background bad bag bah bak bal balance ball ban band bang bank banks bar bare barn bars bas base based basic basis
basket bat batch bath battery battle bay baz be bear bearing beat because bed been beer before beg begin beh bei being
bek bel below bem ben bench benef ber bere bes besch best beste bet beta better between bew bez bg bh bi bias bid bien
big bij bike bil bill bin binary bind binding bio bir bird birth birthday bis bit bits biz bl black blank ble blo
block blocks blog blogs blood blue bo board body bol bold bom bomb bon bond bone bonne bonus book booking books bool
boolean boot bor border born borrow boss bot both bottom bou bound bout bow box boxes boy br bra brain brand bre bread
break bridge bright bring bro broadcast broken broker brown browser brush btn bu buck bud budget buf buff buffer bug
build builder built bul bundle bur burn bus business busy but button buttons buy bw by byte bytes ca cab cache cad
cada cake cal calculate calendar call callback called calling calls cam camera camp campaign campo can cancel
candidate cannot cant canvas cap capital capt capture car cara card cards care career carry cars cart cas case cases
cash casino cast cat catalog catch categor categories category cause cd ce cel cela cele cell cells cent center
central centre cer cert certain certificate ces cet ch cha chain chair challenge champ chance chang change changed
changes changing channel channels chap chapter char character characters charg charge charges chart chat che cheap
check checked checking checks chem cher chez chi chief child children chip cho choice choices choose chunk church ci
cidade cin cir circ circle cit cities city civil cl claim clar class classes classic cle clean clear click client
cliente clientes clients clin clip clock clos close closed closing cloud club cluster cm cmd co cock code codes coding
coffee coin col cold coll collect collection collections college colon color colors colour column columns com comb
combat combine combined come coment comfort coming comm command commands comme comment comments commercial commission
commit common commun community como comp compact company compar compare comparison compat compatible compet compl
complete completed completion complex component components compr comput compute computer con conc concept concert cond
condition conditions conduct conf conference confidence config configuration confirm conn connect connected connection
connections cons consider console const constant construct construction constructor consult consumer cont contact
container contains content contents contest context contin continu continue contr contra contract contrast control
controlled controller controls conv conversation conversion convert cook cookie cookies cool cop copies copy copyright
cor cord core corner corpor corr correct cos cost cot cou could count counter countries country county cour course
courses court cov cover cr cra craft cre cream create created cred credit crew cri crit criteria critical cro cross
crow cry crypt cs cu cub cult culture cum cup cur curr currency current currently cursor cust custom customer cut cute
cv cy cycle da dad dados dag daily dal dam damage dan dance danger dans dar dark das dat data database datas dataset
date dates dating datos dav day days db de dead deal death deb debug dec deck decl ded deep def default define defined
definition deg degree del delay delete deleted delivery delta dem den dent dep depart department depend depending
deploy deposit depth der dere des desc describe description desde design designer desired desk desktop dess dest
destination destroy det detail details detect determ dev develop developer development device devices dh di dia diagn
dialog diam dias dic dice dict dictionary did die dies diet dif diff difference different difficulty dig digit digital
dim dimension din dip dir dire direct direction directory dis disable disabled disc discount discover dish disk disp
dispatch display dist distance distributed distribution district dit div do doc doch doctor document does dog dogs
doing dok dol dom domain domin don done dont door doors dos dose dot dou double dow down download dr draft drag draw
drawing dream dress drink drive driver dro drop drug dry ds dt du due dump dur duration durch during dus dust dw dy
dynamic dz ea each ear early earn earth ease east easy eat eb ec echo econom economic ed edge edit editing editor educ
education ee een ef eff effect effective effects eg egg eh ei eig eight ein eine either ej ek el ela ele elect
electric electron elem element elements eles elig eligible ell ella elle els else em email emails emb emit emp
employee employees employment empty en enable enabled enc encoding end ending ends enemy energy eng engine engineering
enh ens ensure ent enter enterprise entity entr entre entries entry enum enumer env environment ep episode eq equ
equal equip equipment er era err error es esc escape ese esk eso esp especial ess essa est esta estas estate este esto
estos estr et eta eth eu ev evalu evaluate evaluation even event events ever every ex exact exam example examples exc
excel excellent except exception exchange exclusive execut execute execution exercise exist existing exists exit exp
expand expect expected expenses exper experience experiment expert expl explicit export express expression ext extend
extended extension external extr extra extract ey eye eyes ez fa fab fabric fac face faces fact factor factory facts
fail failed failure fair faire fake fal fall false fam famil family fan fans fant far farm fashion fast fat father
fault fav favor favorite fe fear feature features feb fee feed feedback feel fees feet fel female fer fest festival
fetch few fi fib field fields fig fight figure fil file filename files fill filled film filter filters fin final find
finding fine finger finish finished fir fire firm first fish fit fitness fits five fix fixed fl flag flags flash flat
flex flight flo float floor flow fly fn fo focus fol fold folder follow fon fond font food foods foot for force forced
fore forest forget form forma formal format formation former forms formula fort forum forward fot foto found
foundation four fr fra frag fragment frame framework fre free frequency fresh fri friend friendly friends from front
fruit fs ft fu fuck fuel ful full fully fun func function functional functions fund future fy ga gab gain gal gallery
gam game games gaming gan gang gap gar gard garden gas gast gay gaz gb ge gear geb ged gee geen gef gel gem geme gen
gender gene gener general generate generated generation generator generic gent ger ges gesch gest get gets getting gew
gez gi gift gig gir girl girls give given giving gj gl glass gli glob global go god gol gold gone good goods google
got gr gra grab grad grade gradu graduate gran grand grant graph graphics grass gratis gre great greater green grid
gro ground group groups grow growth grupo gu guest guid gun gut gw gy gym ha hab habit had hair hak hal half hall ham
han hand handle handler handling hands hang happy har hard hardware has hash hasta hat have having hay haz he head
header headers heading heads health healthy hear heart heat heavy heb heel height hel held hell help hem hen her here
hero het hi hidden hide hier high higher hin hip hire his hist histor history hit hits hl ho hoe hol hold holder
holding hole holiday hom home homes hon hook hop hope hor hora horse hospital host hot hotel hou hour hours house
housing how hr html http hu hub hum human hun hund hur hv hy hyd hyp hyper ia ib ice ich icon id ide idea ideal ident
identifier identify identity idi if ig ign ignore ihe ik iki il ill illegal ils im imag image images img imm immer imp
impact imper impl implement implementation import importance important in ina inc incident incl include included
includes including income increase increment ind index indic individual industr industry inf infl info inform
information ing ingred ini init initi initial initialize ink inline inn inner innov innovation input inputs ins insert
inside inst install installation instance instances instant instead instit institution instr instruction instructions
instrument int inte integer integr integration intent inter interaction interest interesting interface intern internal
international internet interpret interval into intr introdu inv invalid invent inventory invest io ip ir iron is iss
isso issue ist it item items iter ito its iv iy iyo iz ja jack jak jam jan jar java jaw je jed jeg ji jo job jobs join
joint jour journal joy js json ju jud judge jug jul jump jun jur just ka kab kad kaj kal kam kan kana kap kar kart kas
kat kay ke keep kel kem ken kenn ker kernel kes ket kev key keyboard keys kg kh ki kick kid kids kil kill kin kind
king kir kit kl km kn know known ko kol kom kon kont kor kort kos kosten kot kr ku kub kul kun kung kup kur kut kv kw
kwa la laat lab label labels labor lady lag lak lam lan land lang language languages lap large largest las laser last
lat late later latest launch lav law lay layer layers layout le lead leader leading league learn learning least leave
leb lect led leer left leg legal lek len leng length les less lesson let lets letter lev level levels lever li lib
library lic license lie life lift lig light lighting lights lik like likes lim limit limited limits lin line linear
lines ling link linked links lip lis list lista listed listen listener listing lists lit liter little liv live living
ll lo load loaded loading loan loc local located location locations lock log logger logging logic login logo lok lon
long look looking looks loop los lose loss lost lot lots lov love low lower lu lub luck lum lux ly ma maar mac mach
machine machines mad made mag magic magn mah mai mail main maint mais maj major mak make makes making mal male mam man
mana manage managed management manager mand manifest mant manual manufact manufacturer many map mapping maps mar marca
march margin mark marker market marks mart mas mask mass massage master mat match matches matching mater material
materials math matrix matter max maximum may maybe mb md me mean med media medicine medium mee meer meg mehr mel mem
member members membership memory men meng mens ment mental mention menu mer merc merge mes mesh mess message messages
met meta metadata metal meter method mg mi mic micro mid middle mig migration mil milk mill million min mind mine
miner mini mir mis miss missing mission mist mit mix mixed mk ml mm mo mob mobil mobile mock mod modal mode model
modelo models moder modern modified modify module modules mol mom moment mon mond money monitor mont month mor more
mort mos most mot mother motion motor mount mouse mov move movement moves movie movies moving mp ms msg mt mu much mud
mul mult multi multip multiple mun municip mur mus music must mut muy mw my na nach nag naj nak nal nam name named
names namespace nan nap nar nas nat nation national native natur natural nature nav navigate navigation nd ne near
need neg nel nem nen net network neu never new news next ng nga ngo nh ni nic nice nicht nie niet night nil nine nivel
nj nk no noch node nodes nog noise nom nombre nome non none nor norm normal north nos not note notes nothing notice
notification notify nou nous nov nova novo now nr ns nt nu nuevo null num number numbers numer nun nur nut ny ob obj
object objective objects objet obs observ obt oc occ och oct od odd oder of off offer offers office official offset
often og oh oil ok ol old older ole om on once onde onder one online only ons ont oo ook op open opening oper
operation operations operator opin opp opt optim optimal option optional options or ora ord orden order ordered orders
ore org organ organic organization organizations orient orig origin original ort os ot other others otra otro ou our
out output outside ov over overall override overs own owner ox oz pa pac pack package packet pad padding pag page
pages paid pain paint pair pak pal pam pan pand panel pant pap paper par para param parameter parameters params pare
parent parents park parking parse parser part parte partner parts party pas pass passed passing password past pat
patch path paths patient pattern pay payload payment pc pd pdf pe ped peer pel pem pen peng pens pent pep per percent
percentage perf perfect perform performance perhaps period perm permission permissions permit pero pers person
personal pert pes pet ph phase phen phone phot photo photos phys physical pi pic pick picture pictures pie piece
pieces pier pig pil pin pink pipe pis pit pitch pl plac place places plain plan plane planning plans plant plants
plastic plate platform play played player players playing ple please plot plug plugin plus po pod point pointer points
pois pok pol policy polit poll poly pom pon pont pool poor pop por porn porque port portfolio pos pose position
positions positive poss post posted poster posting posts pot potential pour pow power poz pr pra practice pre prec
pred predict prefer preferred prefix preg prem premium prepare prepared pres present presentation press prest pret
pretty prev prevent previous pri price prices prim prima primary prime primer prin princip principal print printed
printing prior priority pris priv private prix pro prob proble problem proc proced procedure proces process processing
prod produ produce producer product production productos products produk prof profile profiles profit program progress
project projects prom promise promotion prompt pron proof prop proper properties property proposal props pros prot
prote protect protected protein protocol prov provid provide provided provider providers proxy ps psych pt ptr pu pub
publ public publish published pul pull pump pun pur purchase pure purpose push put pw py python qu qual quando quant
quantity quanto quart quarter que quel quem quer query quest question questions queue qui quick quiet quite quote
quotes ra race rad radi radio radius rail rain raise raised ram ran rand random range rank rap rapid rare rat rate
rates rather rating ratio raw ray raz rc re reach react reaction read reader reading ready real really rear reason rec
rece received recent recipe recommend recommended record recover rect red rede redis ref refer reference reflect
refresh refund reg region regional regions register registered registr registration regular reject rel release
released rem remaining remark remember remote remove removed ren render rent rep repair repeat replace replacement
reply report reports repository represent representation req request requested requests require required requires res
research reserv reserved reset resolution resolve resource resources resp respect respond respons response responses
rest restore restr result resultado results resume ret retr retro return returned returns rev reverse review reviews
reward rez rh ri rice rich rid ride rig right rights ring ris rise risk river ro road rob robot rock rod rol role
roles roll rom room root rose rot rotation rou round rounded route router routes routine row rows roz rs ru rub rule
rules rum run running runs rust ry sa sab sad safe sal salary sale sales salt sam same sample samples san sand sans
sap sar sat sav save saved saving say sb sc scale scan scene sch sche schedule scheduled schema scheme school science
scient scope score scores scr screen screens script scroll se sea search season seat sec second secondary seconds
secret section sections sector secure security sed see seed seek seen seg segment segu seit sek sel sele select
selected selection selector self sell seller selling sem semi sen send sender sending sens sense sensor sent sentence
seo sept sequence ser serial serie series serv serve server service services ses session sessions set sets sett
setting settings seven sex sexo sf sh sha shadow shape share shares she sheet shell shift ship shipping shoot shop
short shot show shr si sid side sie sig sign signal signed sil silver sim simpl simple sin since sing single sink sir
sis sit site sites situ six size sizes sj sk skill skills skin skip sky sl sleep slide slot slots slow sm small smart
smooth sn snap snow so sob sobre soc social socket soft software sol solar sold solid solo solution solutions solve
som some something sometimes son song songs sono soon sorry sort sorted sou sound sounds source sources south sp space
spaces span spark spe spec special species specific spect speech speed spin spl split spo sport sports spot spr spread
spring sq sql square src ss st sta stable stack staff stage stake stand standard standing star stars start started
starting starts stat state statement states static station statistics stats status stay std ste stem step ster stick
still stim stock stone stop stor storage store stored stores stories storm story str stra strateg strategy stream
street strength stress stretch strict string strings strip stroke strong struct structure stud student students studio
study stuff styl style styled styles su sub submit subs succ success such suggest suite sum summ summary summer sun
sup super supp support supported sur sure surface survey sus sv sw sweet switch sy sym symbol syn sync sys system
systems sz ta tab table tables tag tags tai tail tak take taken taking tal talk tam tamb tan tank tap tar target tas
task tasks taste tat tau tax te tea teach team tech teen tek tel tele tell tem tema temp temper template tempo
temporary temps ten tent ter term termin terms terr test testing tests tet tex text texture tf th tha than thank
thanks that the them theme then there these they thi thin thing things think thinking third this those though thought
thr thread three threshold through throw throws thu thus ti ticket tickets tid tie tik til tile tim time timer times
timestamp tin tiny tip tipo tips tit title titles tl tmp to tod today todo todos toe toggle tok token tokens tom ton
tone too tool tools top topic tor torch tot total tou touch tour tout town tr tra trab trace track tracking tracks
trad trade traditional trail train training trait tran trans transaction transactions transfer transform transition
translate translation transport tras trat trav travel tre tree trees trend tri trial trib trigger trim trip tritur tro
truck true trust truth try trying ts tu tube tum tun tur turn tutorial tv tw two tx txt ty typ type types ua ub ud ug
ui uint uit uk ul ult um uma un una unable und under une uniform union unique unit units univers unknown unless uno
uns unt unter until up update updated updates upgrade upload upon upper ur uri url us usage use used user username
users uses using uso usu usually usuario ut utf util utility utils uw uz va vac vacc vai vak val vale valid validate
validation valor value values van var vari variable variant ve vec vector ved veel veg veh vel ven vend vent ver verb
verd verg verify vers version vert very vest vet vi via vice vict vid vida vide video videos vie vier view views vil
vill ville vin vind viol vir virt virtual virus vis visible vision visit vista visual vit viv vl vm vo voc void voir
vol volt vom von voor vor vos vote votes vou vous voy vr vrij vs vu vy wa waar wait wake wal walk walking wall wallet
walls wan want wanted war ware warm warn warning was wash wat watch water wave wax way ways we weak wear weather web
website week weekly weeks weight weiter wel welcome well wenn went wer were werk west wet wh what whatever wheel when
where whether which while white who whole why wi wid wide widget width wie wij wil wild will win wind window windows
wine winner winning winter wir wire wis wish with withdraw within without wo woman women won wonder wood word words
work worked worker workers working works world worth would wr wrap write writer writing written wrong wx wy xa xml ya
yak yang ye year years yellow yer yes yet yi yield yn yo yon you young your yr za zak zap ze zelf zero zijn zip zn zo
zona zone zoom zu zum zur zus zw`

/** Only in lower case. */
export const commonLowerWords = `
absor academ academic accept accepted accessible accord accur achter acid acon adequ affected affiliate agents ages
agre agreement agua agus airport aka akan aktiv alc aliment aller alone amaz amin amor anche ander anderen anders ange
angle annual anos antes anticip anu apar appar appear appearance appoint approved apro architect architecture aren
argv aria arms arrival asi asked asking asse atau attach attached attack attempt attention atu authority automatic
availability available avait avez avoir aware awesome axios ayaa bags beaut bec behind blij boat bod boost boys branch
brands brief building bun caf calcul came carbon caught cb cc chall chemical chosen cloth cn coach coal comes
communication communications compan conce confirmed consistent constit contain contained conten contre contro cours
cout coverage covered covers creates creating creation creative cres crime criminal critic crusher ctx cul customers
cz datetime daughter dd decision decor degrees dei dej derived df dib dik discip division django documents dop dp dra
dram dre drivers dst dut earned econ edges edition eens eer efficient egy eing elif elim eller ellos embr empresa
ended endl enem energ enn entered enth ents epis ere erg errors erst eru erv esa escort especially esper essay esse
essential estable estado estar estim estimate estimated etc ett evil evt exports extends extent extern fait faz
featured fell felt fert fet fic fiction finden fis fle flowers flu fluid fmt focused fois football forces formed forth
fprintf fram fro funk fur fyr gaan gaat gad gau gave gebruik gegen geh geht gek geld gemaakt genre gere gev geven ging
goal goed going goto grat grav grote grown guard guess guide gust haar haben hac hacer hag harm hate hau hav haven
heard hele helps hers hes hid him hj hog holds hoog hosting houses href https huis hurt hus ideas identified idx iets
igual ih ike ikke ile ili illustr imple implemented implements inch inde infect infection informatie ingredients inj
insp installed insurance isang isol isset issued issues itu jaar jest jeu jong jou journ jours junto jus kah kang kau
keeping keer kep kj kle knowledge kok komen kommer komt kop kost kt kter kuk kum kus kuwa lack lad lado lah lain lange
langs larg lassen laten laug lava laws lbl leaders legend legs leis lem lett letters leur leurs leven licensed lid
lies lif ligne lij liked limitations lle lowest machen maf maintenance maken mane marked mata mea meal meaning means
measure mechan medio meet meeting mei menos mentioned mere might mik mile minimal minimum minister minor minute
minutes modo mog monthly months moo motiv mouth mund mys mysqli naar nab nad ndi necess necessarily necessary neck ned
needed needs negative nei neighbor nek nett ning niveau nn nod nok nost noticed np numpy nums oa obra occasion occup
occur olan olar oli oma ona ones onto ontwikk opened opens operate organiz organized ost otherwise otras otros oven
owned owners ownership paar pairs pang papers partial particip participants particularly partners peace pela people
performed persona persons phr picked pid pill pk plaats placed placeholder planet planned plays plt pm porno portion
posit possible prakt precio prendre pressure pricing printf privacy processed proj prost prove publication punt puts
qualified quality quot rac rais rapport ras rau readonly reb recht redirect redu reduce rein related relation
relations relig remain rend renew reported repr requ reve rib richt rin rit roof rooms rough rug said sak seeing sei
sein sera served shall skal sle soil sole soo specified spel spent spre staan staat stad stands steel steps stre
structures synt takes tant teacher teachers teams techn technical technology tegen telefon telling temperature tempor
tener terminal terror tested therapy tight tijd ting tir tons tox traffic trained treated tsa turned tussen typeof
typically uch ultimate undefined undert unos unsigned upp urban urg usa usar ust usual uu uur uye valu valuable vary
vas vast veget vere verk verm versch versions vertical verw vez viel vig vinden visited voice volume vorm waard wak
waren wealth weer weg weit wen werden werken whose wife wor writers wur www yar yard zal zam zeg zien zij zit zoals
zon zonder zorg zou zwe`
